// bfloat16 on the CPU: the types __nv_bfloat16 and __nv_bfloat162 and every
// function on them.
#pragma once

#include "cotangent/half.hpp"

COTANGENT_HALF_CLASS(__nv_bfloat16, __nv_bfloat162, __nv_bfloat16_raw, __half, Bfloat16Format)
COTANGENT_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
COTANGENT_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;
