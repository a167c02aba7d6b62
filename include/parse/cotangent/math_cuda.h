// Declarations of the math functions that CUDA has and C++ has not, and of
// min and max. CUDA offers some of them to the host as well; of those, the ones
// that the C library declares for the host (glibc's extensions) are declared
// here for the device only, with a float overload for both.
#pragma once

#include "cotangent/libm.h"
#include "host_defines.h"

#define COTANGENT_UNARY(space, name)                      \
  space double name(double x);                            \
  __host__ __device__ float name(float x);                \
  space float name##f(float x);

#define COTANGENT_BOTH __host__ __device__
#if COTANGENT_LIBM_HAS_SINPI
#define COTANGENT_UNLESS_SINPI __device__
#else
#define COTANGENT_UNLESS_SINPI __host__ __device__
#endif
#if COTANGENT_LIBM_HAS_RSQRT
#define COTANGENT_UNLESS_RSQRT __device__
#else
#define COTANGENT_UNLESS_RSQRT __host__ __device__
#endif

COTANGENT_UNARY(COTANGENT_UNLESS_SINPI, cospi)
COTANGENT_UNARY(COTANGENT_UNLESS_SINPI, sinpi)
COTANGENT_UNARY(COTANGENT_UNLESS_RSQRT, rsqrt)
COTANGENT_UNARY(COTANGENT_BOTH, erfcinv)
COTANGENT_UNARY(COTANGENT_BOTH, erfcx)
COTANGENT_UNARY(COTANGENT_BOTH, erfinv)
COTANGENT_UNARY(COTANGENT_BOTH, normcdf)
COTANGENT_UNARY(COTANGENT_BOTH, normcdfinv)
COTANGENT_UNARY(COTANGENT_BOTH, rcbrt)
COTANGENT_UNARY(__device__, exp10)
COTANGENT_UNARY(__device__, j0)
COTANGENT_UNARY(__device__, j1)
COTANGENT_UNARY(__device__, y0)
COTANGENT_UNARY(__device__, y1)

#undef COTANGENT_UNARY
#undef COTANGENT_BOTH
#undef COTANGENT_UNLESS_SINPI
#undef COTANGENT_UNLESS_RSQRT

__device__ double cyl_bessel_i0(double x);
__device__ float cyl_bessel_i0(float x);
__device__ float cyl_bessel_i0f(float x);
__device__ double cyl_bessel_i1(double x);
__device__ float cyl_bessel_i1(float x);
__device__ float cyl_bessel_i1f(float x);

__device__ double jn(int n, double x);
__host__ __device__ float jn(int n, float x);
__device__ float jnf(int n, float x);
__device__ double yn(int n, double x);
__host__ __device__ float yn(int n, float x);
__device__ float ynf(int n, float x);

__device__ void sincos(double x, double* sine, double* cosine);
__host__ __device__ void sincos(float x, float* sine, float* cosine);
__device__ void sincosf(float x, float* sine, float* cosine);
__host__ __device__ void sincospi(double x, double* sine, double* cosine);
__host__ __device__ void sincospi(float x, float* sine, float* cosine);
__host__ __device__ void sincospif(float x, float* sine, float* cosine);

// These have no overload for float: norm3d of floats is computed in double.
__device__ double fdivide(double x, double y);
__device__ float fdividef(float x, float y);

__device__ double rhypot(double x, double y);
__device__ float rhypotf(float x, float y);
__device__ double norm3d(double a, double b, double c);
__device__ float norm3df(float a, float b, float c);
__device__ double rnorm3d(double a, double b, double c);
__device__ float rnorm3df(float a, float b, float c);
__device__ double norm4d(double a, double b, double c, double d);
__device__ float norm4df(float a, float b, float c, float d);
__device__ double rnorm4d(double a, double b, double c, double d);
__device__ float rnorm4df(float a, float b, float c, float d);
__device__ double norm(int count, const double* values);
__device__ float normf(int count, const float* values);
__device__ double rnorm(int count, const double* values);
__device__ float rnormf(int count, const float* values);

// min and max exist for each pair of types that differ at most in sign.
#define COTANGENT_MIN_MAX(result, first, second)              \
  __host__ __device__ result min(first x, second y);          \
  __host__ __device__ result max(first x, second y);

#define COTANGENT_INTEGER_MIN_MAX(type)                       \
  COTANGENT_MIN_MAX(type, type, type)                         \
  COTANGENT_MIN_MAX(unsigned type, unsigned type, unsigned type) \
  COTANGENT_MIN_MAX(unsigned type, type, unsigned type)       \
  COTANGENT_MIN_MAX(unsigned type, unsigned type, type)

COTANGENT_INTEGER_MIN_MAX(int)
COTANGENT_INTEGER_MIN_MAX(long)
COTANGENT_INTEGER_MIN_MAX(long long)
COTANGENT_MIN_MAX(float, float, float)
COTANGENT_MIN_MAX(double, double, double)
COTANGENT_MIN_MAX(double, float, double)
COTANGENT_MIN_MAX(double, double, float)

#undef COTANGENT_MIN_MAX
#undef COTANGENT_INTEGER_MIN_MAX

__host__ __device__ unsigned int umin(unsigned int x, unsigned int y);
__host__ __device__ unsigned int umax(unsigned int x, unsigned int y);
__host__ __device__ long long llmin(long long x, long long y);
__host__ __device__ long long llmax(long long x, long long y);
__host__ __device__ unsigned long long ullmin(unsigned long long x, unsigned long long y);
__host__ __device__ unsigned long long ullmax(unsigned long long x, unsigned long long y);
