// half precision, for parsing: the types __half and __half2 and every function
// on them, declared.
#pragma once

#include "cotangent/half.h"

COTANGENT_HALF_CLASS(__half, __half2, __half_raw, __nv_bfloat16)
COTANGENT_HALF_FUNCTIONS(__half, __half2)
#ifndef __CUDA_NO_HALF_OPERATORS__
COTANGENT_HALF_OPERATORS(__half)
#endif
#ifndef __CUDA_NO_HALF2_OPERATORS__
COTANGENT_HALF_OPERATORS(__half2)
#endif
COTANGENT_HALF_CONVERSIONS(__half, __half2, half, half2)

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
