// Declarations of the floating-point intrinsics: fast approximations, and
// arithmetic with the rounding mode in the name.
#pragma once

#include "host_defines.h"

__device__ float __cosf(float x);
__device__ float __exp10f(float x);
__device__ float __expf(float x);
__device__ float __fdividef(float x, float y);
__device__ float __frsqrt_rn(float x);
__device__ float __log10f(float x);
__device__ float __log2f(float x);
__device__ float __logf(float x);
__device__ float __powf(float x, float y);
__device__ float __saturatef(float x);
__device__ void __sincosf(float x, float* sine, float* cosine);
__device__ float __sinf(float x);
__device__ float __tanf(float x);
__device__ float __tanhf(float x);

// One set for each of: to nearest even, towards zero, up, down.
#define COTANGENT_ROUNDED(mode)                                             \
  __device__ float __fadd_##mode(float x, float y);                         \
  __device__ float __fsub_##mode(float x, float y);                         \
  __device__ float __fmul_##mode(float x, float y);                         \
  __device__ float __fdiv_##mode(float x, float y);                         \
  __device__ float __fmaf_##mode(float x, float y, float z);                \
  __device__ float __fmaf_ieee_##mode(float x, float y, float z);           \
  __device__ float __frcp_##mode(float x);                                  \
  __device__ float __fsqrt_##mode(float x);                                 \
  __device__ double __dadd_##mode(double x, double y);                      \
  __device__ double __dsub_##mode(double x, double y);                      \
  __device__ double __dmul_##mode(double x, double y);                      \
  __device__ double __ddiv_##mode(double x, double y);                      \
  __device__ double __fma_##mode(double x, double y, double z);             \
  __device__ double __drcp_##mode(double x);                                \
  __device__ double __dsqrt_##mode(double x);

COTANGENT_ROUNDED(rn)
COTANGENT_ROUNDED(rz)
COTANGENT_ROUNDED(ru)
COTANGENT_ROUNDED(rd)

#undef COTANGENT_ROUNDED
