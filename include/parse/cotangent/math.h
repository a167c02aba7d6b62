// Declarations, for device code, of the math functions that C++ also has.
//
// The host gets them from <cmath>. This file must precede every C++ header:
// libstdc++ declares its overloads constexpr, which Clang treats as callable
// from the device unless a device function of that signature is known already.
// Declared here and named in std, ours are what `sin(x)` and `std::sin(x)`
// mean in device code, and <cmath>'s are what they mean on the host. Clang
// grants this only to system headers, hence the second pragma.
#pragma once
#pragma clang system_header

#include "host_defines.h"

// name(double), name(float), namef(float).
#define COTANGENT_UNARY(result, result_float, name)      \
  __device__ result name(double x);                      \
  __device__ result_float name(float x);                 \
  __device__ result_float name##f(float x);              \
  namespace std {                                        \
  using ::name;                                          \
  using ::name##f;                                       \
  }

#define COTANGENT_BINARY(name)                           \
  __device__ double name(double x, double y);            \
  __device__ float name(float x, float y);               \
  __device__ float name##f(float x, float y);            \
  namespace std {                                        \
  using ::name;                                          \
  using ::name##f;                                       \
  }

// The second parameter has the same type in both precisions.
#define COTANGENT_WITH(name, second)                     \
  __device__ double name(double x, second y);            \
  __device__ float name(float x, second y);              \
  __device__ float name##f(float x, second y);           \
  namespace std {                                        \
  using ::name;                                          \
  using ::name##f;                                       \
  }

#define COTANGENT_REAL(name) COTANGENT_UNARY(double, float, name)

COTANGENT_REAL(acos)
COTANGENT_REAL(acosh)
COTANGENT_REAL(asin)
COTANGENT_REAL(asinh)
COTANGENT_REAL(atan)
COTANGENT_REAL(atanh)
COTANGENT_REAL(cbrt)
COTANGENT_REAL(ceil)
COTANGENT_REAL(cos)
COTANGENT_REAL(cosh)
COTANGENT_REAL(erf)
COTANGENT_REAL(erfc)
COTANGENT_REAL(exp)
COTANGENT_REAL(exp2)
COTANGENT_REAL(expm1)
COTANGENT_REAL(fabs)
COTANGENT_REAL(floor)
COTANGENT_REAL(lgamma)
COTANGENT_REAL(log)
COTANGENT_REAL(log10)
COTANGENT_REAL(log1p)
COTANGENT_REAL(log2)
COTANGENT_REAL(logb)
COTANGENT_REAL(nearbyint)
COTANGENT_REAL(rint)
COTANGENT_REAL(round)
COTANGENT_REAL(sin)
COTANGENT_REAL(sinh)
COTANGENT_REAL(sqrt)
COTANGENT_REAL(tan)
COTANGENT_REAL(tanh)
COTANGENT_REAL(tgamma)
COTANGENT_REAL(trunc)
COTANGENT_UNARY(int, int, ilogb)
COTANGENT_UNARY(long, long, lrint)
COTANGENT_UNARY(long, long, lround)
COTANGENT_UNARY(long long, long long, llrint)
COTANGENT_UNARY(long long, long long, llround)
COTANGENT_BINARY(atan2)
COTANGENT_BINARY(copysign)
COTANGENT_BINARY(fdim)
COTANGENT_BINARY(fmax)
COTANGENT_BINARY(fmin)
COTANGENT_BINARY(fmod)
COTANGENT_BINARY(hypot)
COTANGENT_BINARY(nextafter)
COTANGENT_BINARY(pow)
COTANGENT_BINARY(remainder)
COTANGENT_WITH(frexp, int*)
COTANGENT_WITH(ldexp, int)
COTANGENT_WITH(scalbln, long)
COTANGENT_WITH(scalbn, int)

#undef COTANGENT_REAL
#undef COTANGENT_UNARY
#undef COTANGENT_BINARY
#undef COTANGENT_WITH

__device__ double fma(double x, double y, double z);
__device__ float fma(float x, float y, float z);
__device__ float fmaf(float x, float y, float z);
__device__ double modf(double x, double* whole);
__device__ float modf(float x, float* whole);
__device__ float modff(float x, float* whole);
__device__ double remquo(double x, double y, int* quotient);
__device__ float remquo(float x, float y, int* quotient);
__device__ float remquof(float x, float y, int* quotient);
__device__ double nan(const char* tag);
__device__ float nanf(const char* tag);

__device__ int abs(int x);
__device__ long abs(long x);
__device__ long long abs(long long x);
__device__ float abs(float x);
__device__ double abs(double x);
__device__ long labs(long x);
__device__ long long llabs(long long x);

__device__ bool isfinite(float x);
__device__ bool isfinite(double x);
__device__ bool isinf(float x);
__device__ bool isinf(double x);
__device__ bool isnan(float x);
__device__ bool isnan(double x);
__device__ bool signbit(float x);
__device__ bool signbit(double x);

namespace std {
using ::abs;
using ::fma;
using ::fmaf;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::labs;
using ::llabs;
using ::modf;
using ::modff;
using ::nan;
using ::nanf;
using ::remquo;
using ::remquof;
using ::signbit;
}  // namespace std
