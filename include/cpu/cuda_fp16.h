// half precision on the CPU: the types __half and __half2 and every function
// on them.
#pragma once

#include "cotangent/half.hpp"

COTANGENT_HALF_CLASS(__half, __half2, __half_raw, __nv_bfloat16, HalfFormat)
COTANGENT_HALF_FUNCTIONS(__half, __half2)
COTANGENT_HALF_CONVERSIONS(__half, __half2, half, half2)

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;
typedef __half2 __nv_half2;
