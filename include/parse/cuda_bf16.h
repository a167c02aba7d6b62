// bfloat16, for parsing: the types __nv_bfloat16 and __nv_bfloat162 and every
// function on them, declared.
#pragma once

#include "cotangent/half.h"

COTANGENT_HALF_CLASS(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, __half)
COTANGENT_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
#ifndef __CUDA_NO_BFLOAT16_OPERATORS__
COTANGENT_HALF_OPERATORS(__nv_bfloat16)
#endif
#ifndef __CUDA_NO_BFLOAT162_OPERATORS__
COTANGENT_HALF_OPERATORS(__nv_bfloat162)
#endif
COTANGENT_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
