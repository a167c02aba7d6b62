// Declarations of the conversion intrinsics: between numbers with the rounding
// mode in the name, and between numbers and their bits.
#pragma once

#include "host_defines.h"

#define COTANGENT_CONVERSIONS(mode)                                  \
  __device__ float __double2float_##mode(double x);                  \
  __device__ int __double2int_##mode(double x);                      \
  __device__ unsigned int __double2uint_##mode(double x);            \
  __device__ long long __double2ll_##mode(double x);                 \
  __device__ unsigned long long __double2ull_##mode(double x);       \
  __device__ int __float2int_##mode(float x);                        \
  __device__ unsigned int __float2uint_##mode(float x);              \
  __device__ long long __float2ll_##mode(float x);                   \
  __device__ unsigned long long __float2ull_##mode(float x);         \
  __device__ float __int2float_##mode(int x);                        \
  __device__ float __uint2float_##mode(unsigned int x);              \
  __device__ float __ll2float_##mode(long long x);                   \
  __device__ float __ull2float_##mode(unsigned long long x);         \
  __device__ double __ll2double_##mode(long long x);                 \
  __device__ double __ull2double_##mode(unsigned long long x);

COTANGENT_CONVERSIONS(rn)
COTANGENT_CONVERSIONS(rz)
COTANGENT_CONVERSIONS(ru)
COTANGENT_CONVERSIONS(rd)

#undef COTANGENT_CONVERSIONS

// Exact in every mode.
__device__ double __int2double_rn(int x);
__device__ double __uint2double_rn(unsigned int x);

__device__ int __float_as_int(float x);
__device__ unsigned int __float_as_uint(float x);
__device__ float __int_as_float(int x);
__device__ float __uint_as_float(unsigned int x);
__device__ long long __double_as_longlong(double x);
__device__ double __longlong_as_double(long long x);
__device__ int __double2hiint(double x);
__device__ int __double2loint(double x);
__device__ double __hiloint2double(int high, int low);
