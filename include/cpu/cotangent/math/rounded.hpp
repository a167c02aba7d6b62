// Arithmetic with the rounding mode in the name.
//
// To nearest is the mode a program runs in, so those forms are the plain
// operators, kept apart from fused operations. For the other three the mode is
// switched around one operation, in a function that is never inlined, with the
// pragma that tells the compiler that the mode matters.
#pragma once

#include <fenv.h>
#include <math.h>

namespace cotangent {
namespace math {

#define COTANGENT_IN_MODE(name, parameters, operation)                            \
  template <class T>                                                              \
  __attribute__((noinline, no_sanitize("thread"))) T name parameters {            \
    _Pragma("STDC FENV_ACCESS ON") int before = fegetround();                     \
    fesetround(mode);                                                             \
    T result = operation;                                                         \
    fesetround(before);                                                           \
    return result;                                                                \
  }

COTANGENT_IN_MODE(add_rounded, (int mode, T x, T y), x + y)
COTANGENT_IN_MODE(subtract_rounded, (int mode, T x, T y), x - y)
COTANGENT_IN_MODE(multiply_rounded, (int mode, T x, T y), x* y)
COTANGENT_IN_MODE(divide_rounded, (int mode, T x, T y), x / y)
COTANGENT_IN_MODE(fma_rounded, (int mode, T x, T y, T z), std::fma(x, y, z))
COTANGENT_IN_MODE(sqrt_rounded, (int mode, T x), std::sqrt(x))

#undef COTANGENT_IN_MODE

// Plain operators that the compiler must not fuse with a neighbour, which is
// why a program calls __fmul_rn at all.
template <class T>
inline T add_nearest(T x, T y) {
#pragma clang fp contract(off)
  return x + y;
}
template <class T>
inline T multiply_nearest(T x, T y) {
#pragma clang fp contract(off)
  return x * y;
}

}  // namespace math
}  // namespace cotangent

inline float __fadd_rn(float x, float y) { return ::cotangent::math::add_nearest(x, y); }
inline float __fsub_rn(float x, float y) { return ::cotangent::math::add_nearest(x, -y); }
inline float __fmul_rn(float x, float y) { return ::cotangent::math::multiply_nearest(x, y); }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __fmaf_ieee_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline double __dadd_rn(double x, double y) { return ::cotangent::math::add_nearest(x, y); }
inline double __dsub_rn(double x, double y) { return ::cotangent::math::add_nearest(x, -y); }
inline double __dmul_rn(double x, double y) { return ::cotangent::math::multiply_nearest(x, y); }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
inline double __drcp_rn(double x) { return 1 / x; }
inline double __dsqrt_rn(double x) { return sqrt(x); }

// One rounding: the square root is taken in a precision in which its error and
// that of the quotient do not reach the float's last bit.
inline float __frsqrt_rn(float x) { return static_cast<float>(1 / sqrt(static_cast<double>(x))); }

#define COTANGENT_ROUNDED(suffix, mode)                                                              \
  inline float __fadd_##suffix(float x, float y) { return ::cotangent::math::add_rounded(mode, x, y); } \
  inline float __fsub_##suffix(float x, float y) {                                                   \
    return ::cotangent::math::subtract_rounded(mode, x, y);                                          \
  }                                                                                                  \
  inline float __fmul_##suffix(float x, float y) {                                                   \
    return ::cotangent::math::multiply_rounded(mode, x, y);                                          \
  }                                                                                                  \
  inline float __fdiv_##suffix(float x, float y) {                                                   \
    return ::cotangent::math::divide_rounded(mode, x, y);                                            \
  }                                                                                                  \
  inline float __fmaf_##suffix(float x, float y, float z) {                                          \
    return ::cotangent::math::fma_rounded(mode, x, y, z);                                            \
  }                                                                                                  \
  inline float __fmaf_ieee_##suffix(float x, float y, float z) {                                     \
    return ::cotangent::math::fma_rounded(mode, x, y, z);                                            \
  }                                                                                                  \
  inline float __frcp_##suffix(float x) { return ::cotangent::math::divide_rounded(mode, 1.0f, x); } \
  inline float __fsqrt_##suffix(float x) { return ::cotangent::math::sqrt_rounded(mode, x); }        \
  inline double __dadd_##suffix(double x, double y) {                                                \
    return ::cotangent::math::add_rounded(mode, x, y);                                               \
  }                                                                                                  \
  inline double __dsub_##suffix(double x, double y) {                                                \
    return ::cotangent::math::subtract_rounded(mode, x, y);                                          \
  }                                                                                                  \
  inline double __dmul_##suffix(double x, double y) {                                                \
    return ::cotangent::math::multiply_rounded(mode, x, y);                                          \
  }                                                                                                  \
  inline double __ddiv_##suffix(double x, double y) {                                                \
    return ::cotangent::math::divide_rounded(mode, x, y);                                            \
  }                                                                                                  \
  inline double __fma_##suffix(double x, double y, double z) {                                       \
    return ::cotangent::math::fma_rounded(mode, x, y, z);                                            \
  }                                                                                                  \
  inline double __drcp_##suffix(double x) { return ::cotangent::math::divide_rounded(mode, 1.0, x); } \
  inline double __dsqrt_##suffix(double x) { return ::cotangent::math::sqrt_rounded(mode, x); }

COTANGENT_ROUNDED(rz, FE_TOWARDZERO)
COTANGENT_ROUNDED(ru, FE_UPWARD)
COTANGENT_ROUNDED(rd, FE_DOWNWARD)

#undef COTANGENT_ROUNDED
