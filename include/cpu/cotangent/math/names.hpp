// The math functions under CUDA's names: in double, overloaded for float, and
// with the suffix f. Functions of a single precision are computed in double
// and rounded once, except where the C library has them.
#pragma once

#include "cotangent/libm.h"
#include "cotangent/math/elementary.hpp"
#include "cotangent/math/special.hpp"

#define COTANGENT_DOUBLE(name) \
  inline double name(double x) { return ::cotangent::math::name(x); }
#define COTANGENT_FLOAT(name) \
  inline float name##f(float x) { return static_cast<float>(::cotangent::math::name(x)); }
#define COTANGENT_OVERLOAD(name) \
  inline float name(float x) { return name##f(x); }

#define COTANGENT_UNARY(name) \
  COTANGENT_DOUBLE(name)      \
  COTANGENT_FLOAT(name)       \
  COTANGENT_OVERLOAD(name)

COTANGENT_UNARY(cyl_bessel_i0)
COTANGENT_UNARY(cyl_bessel_i1)
COTANGENT_UNARY(erfcinv)
COTANGENT_UNARY(erfcx)
COTANGENT_UNARY(erfinv)
COTANGENT_UNARY(normcdf)
COTANGENT_UNARY(normcdfinv)
COTANGENT_UNARY(rcbrt)

#if COTANGENT_LIBM_HAS_SINPI
COTANGENT_OVERLOAD(cospi)
COTANGENT_OVERLOAD(sinpi)
#else
COTANGENT_UNARY(cospi)
COTANGENT_UNARY(sinpi)
#endif

#if COTANGENT_LIBM_HAS_RSQRT
COTANGENT_OVERLOAD(rsqrt)
#else
COTANGENT_DOUBLE(rsqrt)
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
COTANGENT_OVERLOAD(rsqrt)
#endif

COTANGENT_OVERLOAD(exp10)
COTANGENT_OVERLOAD(j0)
COTANGENT_OVERLOAD(j1)
COTANGENT_OVERLOAD(y0)
COTANGENT_OVERLOAD(y1)

#undef COTANGENT_UNARY
#undef COTANGENT_DOUBLE
#undef COTANGENT_FLOAT
#undef COTANGENT_OVERLOAD

inline float jn(int n, float x) { return jnf(n, x); }
inline float yn(int n, float x) { return ynf(n, x); }

inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = ::cotangent::math::sinpi(x);
  *cosine = ::cotangent::math::cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = static_cast<float>(::cotangent::math::sinpi(x));
  *cosine = static_cast<float>(::cotangent::math::cospi(x));
}
inline void sincospi(float x, float* sine, float* cosine) { sincospif(x, sine, cosine); }

// As in CUDA, these have no overload for float.
inline double fdivide(double x, double y) { return x / y; }
inline float fdividef(float x, float y) { return x / y; }

inline double rhypot(double x, double y) { return ::cotangent::math::rhypot(x, y); }
inline float rhypotf(float x, float y) { return static_cast<float>(::cotangent::math::rhypot(x, y)); }

#define COTANGENT_NORM3(name)                                                                \
  inline double name(double a, double b, double c) { return ::cotangent::math::name(a, b, c); } \
  inline float name##f(float a, float b, float c) {                                          \
    return static_cast<float>(::cotangent::math::name(a, b, c));                             \
  }

#define COTANGENT_NORM4(name)                                                 \
  inline double name(double a, double b, double c, double d) {                \
    return ::cotangent::math::name(a, b, c, d);                               \
  }                                                                           \
  inline float name##f(float a, float b, float c, float d) {                  \
    return static_cast<float>(::cotangent::math::name(a, b, c, d));           \
  }

COTANGENT_NORM3(norm3d)
COTANGENT_NORM3(rnorm3d)
COTANGENT_NORM4(norm4d)
COTANGENT_NORM4(rnorm4d)

#undef COTANGENT_NORM3
#undef COTANGENT_NORM4

// The sum of squares of floats cannot overflow in double.
inline double norm(int count, const double* values) { return ::cotangent::math::norm(count, values); }
inline float normf(int count, const float* values) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return static_cast<float>(sqrt(sum));
}
inline double rnorm(int count, const double* values) { return ::cotangent::math::rnorm(count, values); }
inline float rnormf(int count, const float* values) {
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += static_cast<double>(values[i]) * values[i];
  return static_cast<float>(1 / sqrt(sum));
}

// The fast intrinsics. On the CPU they are the accurate functions, so a result
// is at least as good as the hardware's. The C library declares most of these
// names for itself, with C linkage, and these definitions have to agree.
extern "C" {
inline float __cosf(float x) noexcept { return cosf(x); }
inline float __exp10f(float x) noexcept { return exp10f(x); }
inline float __expf(float x) noexcept { return expf(x); }
inline float __log10f(float x) noexcept { return log10f(x); }
inline float __log2f(float x) noexcept { return log2f(x); }
inline float __logf(float x) noexcept { return logf(x); }
inline float __powf(float x, float y) noexcept { return powf(x, y); }
inline void __sincosf(float x, float* sine, float* cosine) noexcept { sincosf(x, sine, cosine); }
inline float __sinf(float x) noexcept { return sinf(x); }
inline float __tanf(float x) noexcept { return tanf(x); }
inline float __tanhf(float x) noexcept { return tanhf(x); }
}
inline float __fdividef(float x, float y) { return x / y; }

// Clamped to 0..1; not-a-number becomes 0.
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
