// What half and bfloat16 have in common on the CPU: macros that cuda_fp16.h
// and cuda_bf16.h expand for their types. Parsing has the same list as
// declarations (cotangent/half.h there).
//
// A value is its 16 bits. Arithmetic is done in float and rounded: for + - * /
// and the square root, float has more than twice the bits, so that rounding
// twice is rounding once. Fused multiply-add goes through double, to odd.
//
// `cotangent check` widens programs: there `float` is a macro for double when
// this is read, COTANGENT_WIDE_HALF is defined, and a value is a double.
#pragma once

#include <type_traits>

#include "cuda_runtime.h"
#include "cotangent/half_bits.hpp"

// Each converts to the other, which need not be defined.
struct __half;
struct __nv_bfloat16;

#ifdef COTANGENT_WIDE_HALF
#define COTANGENT_HALF_OF_FLOAT(scalar)
#else
#define COTANGENT_HALF_OF_FLOAT(scalar) \
  scalar(float value) : __x(rounded(value)) {}
#endif

#define COTANGENT_HALF_CLASS(scalar, pair, raw, other, format)                                      \
  struct raw {                                                                                      \
    ::cotangent::math::format::Bits x;                                                              \
  };                                                                                                \
  struct __align__(2 * sizeof(raw)) pair##_raw {                                                    \
    ::cotangent::math::format::Bits x, y;                                                           \
  };                                                                                                \
  struct __align__(sizeof(raw)) scalar {                                                            \
    using Format = ::cotangent::math::format;                                                       \
    scalar() = default;                                                                             \
    scalar(const raw& bits) : __x(bits.x) {}                                                        \
    template <class T, class = typename std::enable_if<std::is_same<T, other>::value>::type>        \
    explicit scalar(const T& value) : __x(rounded(static_cast<float>(value))) {}                    \
    scalar(double value) : __x(rounded(value)) {}                                                   \
    COTANGENT_HALF_OF_FLOAT(scalar)                                                                 \
    scalar(short value) : __x(rounded(value)) {}                                                    \
    scalar(unsigned short value) : __x(rounded(value)) {}                                           \
    scalar(int value) : __x(rounded(value)) {}                                                      \
    scalar(unsigned int value) : __x(rounded(value)) {}                                             \
    scalar(long value) : __x(rounded(::cotangent::math::integer_to_odd(value))) {}                  \
    scalar(unsigned long value) : __x(rounded(::cotangent::math::integer_to_odd(value))) {}         \
    scalar(long long value) : __x(rounded(::cotangent::math::integer_to_odd(value))) {}             \
    scalar(unsigned long long value) : __x(rounded(::cotangent::math::integer_to_odd(value))) {}    \
    operator raw() const { return raw{__x}; }                                                       \
    operator float() const { return ::cotangent::math::decode<Format>(__x); }                       \
    operator bool() const { return static_cast<float>(*this) != 0; }                                \
    operator char() const { return whole<char>(); }                                                 \
    operator signed char() const { return whole<signed char>(); }                                   \
    operator unsigned char() const { return whole<unsigned char>(); }                               \
    operator short() const { return whole<short>(); }                                               \
    operator unsigned short() const { return whole<unsigned short>(); }                             \
    operator int() const { return whole<int>(); }                                                   \
    operator unsigned int() const { return whole<unsigned int>(); }                                 \
    operator long() const { return whole<long>(); }                                                 \
    operator unsigned long() const { return whole<unsigned long>(); }                               \
    operator long long() const { return whole<long long>(); }                                       \
    operator unsigned long long() const { return whole<unsigned long long>(); }                     \
                                                                                                    \
   protected:                                                                                       \
    static Format::Bits rounded(double value) {                                                     \
      return ::cotangent::math::encode<Format>(value, ::cotangent::math::Rounding::nearest);        \
    }                                                                                               \
    template <class Integer>                                                                        \
    Integer whole() const {                                                                         \
      return ::cotangent::math::to_integer<Integer>(static_cast<float>(*this),                      \
                                                    ::cotangent::math::Rounding::zero);             \
    }                                                                                               \
    Format::Bits __x;                                                                               \
  };                                                                                                \
  struct __align__(sizeof(scalar) == 2 ? 4 : 8) pair {                                                \
    scalar x, y;                                                                                    \
    pair() = default;                                                                               \
    pair(const scalar& low, const scalar& high) : x(low), y(high) {}                                \
    pair(const pair##_raw& bits) : x(scalar##_raw{bits.x}), y(scalar##_raw{bits.y}) {}              \
    operator pair##_raw() const {                                                                   \
      return pair##_raw{static_cast<scalar##_raw>(x).x, static_cast<scalar##_raw>(y).x};            \
    }                                                                                               \
  };

// Names in the macros below: a, b, c are the operands as given, and p, q, r the
// same as float.
#define COTANGENT_HALF_UNARY(scalar, pair, name, name2, value)                                      \
  inline scalar name(scalar a) {                                                                    \
    float p = a;                                                                                    \
    return scalar(value);                                                                           \
  }                                                                                                 \
  inline pair name2(pair a) { return pair(name(a.x), name(a.y)); }

#define COTANGENT_HALF_BINARY(scalar, pair, name, name2, value)                                     \
  inline scalar name(scalar a, scalar b) {                                                          \
    float p = a, q = b;                                                                             \
    return scalar(value);                                                                           \
  }                                                                                                 \
  inline pair name2(pair a, pair b) { return pair(name(a.x, b.x), name(a.y, b.y)); }

// Computed from the exact product plus c, which the last rounding sees as `sum`.
#define COTANGENT_HALF_TERNARY(scalar, pair, name, name2, value)                                    \
  inline scalar name(scalar a, scalar b, scalar c) {                                                \
    double product = static_cast<double>(static_cast<float>(a)) * static_cast<float>(b);            \
    double sum = ::cotangent::math::add_to_odd(product, static_cast<float>(c));                     \
    return scalar(value);                                                                           \
  }                                                                                                 \
  inline pair name2(pair a, pair b, pair c) {                                                       \
    return pair(name(a.x, b.x, c.x), name(a.y, b.y, c.y));                                          \
  }

#define COTANGENT_HALF_COMPARISON(scalar, pair, relation, operation)                                \
  inline bool __h##relation(scalar a, scalar b) {                                                   \
    float p = a, q = b;                                                                             \
    return !(p != p || q != q) && p operation q;                                                    \
  }                                                                                                 \
  inline bool __h##relation##u(scalar a, scalar b) {                                                \
    float p = a, q = b;                                                                             \
    return p != p || q != q || p operation q;                                                       \
  }                                                                                                 \
  inline pair __h##relation##2(pair a, pair b) {                                                    \
    return pair(scalar(__h##relation(a.x, b.x) ? 1.0f : 0.0f), scalar(__h##relation(a.y, b.y) ? 1.0f : 0.0f)); \
  }                                                                                                 \
  inline pair __h##relation##u2(pair a, pair b) {                                                   \
    return pair(scalar(__h##relation##u(a.x, b.x) ? 1.0f : 0.0f),                                   \
                scalar(__h##relation##u(a.y, b.y) ? 1.0f : 0.0f));                                  \
  }                                                                                                 \
  inline bool __hb##relation##2(pair a, pair b) {                                                   \
    return __h##relation(a.x, b.x) && __h##relation(a.y, b.y);                                      \
  }                                                                                                 \
  inline bool __hb##relation##u2(pair a, pair b) {                                                  \
    return __h##relation##u(a.x, b.x) && __h##relation##u(a.y, b.y);                                \
  }                                                                                                 \
  inline unsigned int __h##relation##2_mask(pair a, pair b) {                                       \
    return (__h##relation(a.x, b.x) ? 0xffffu : 0u) | (__h##relation(a.y, b.y) ? 0xffff0000u : 0u); \
  }                                                                                                 \
  inline unsigned int __h##relation##u2_mask(pair a, pair b) {                                      \
    return (__h##relation##u(a.x, b.x) ? 0xffffu : 0u) |                                            \
           (__h##relation##u(a.y, b.y) ? 0xffff0000u : 0u);                                         \
  }

#define COTANGENT_HALF_OPERATORS(type, add, subtract, multiply, divide, negate, one)                \
  inline type operator+(const type& a) { return a; }                                                \
  inline type operator-(const type& a) { return negate(a); }                                        \
  inline type operator+(const type& a, const type& b) { return add(a, b); }                         \
  inline type operator-(const type& a, const type& b) { return subtract(a, b); }                    \
  inline type operator*(const type& a, const type& b) { return multiply(a, b); }                    \
  inline type operator/(const type& a, const type& b) { return divide(a, b); }                      \
  inline type& operator+=(type& a, const type& b) { return a = add(a, b); }                         \
  inline type& operator-=(type& a, const type& b) { return a = subtract(a, b); }                    \
  inline type& operator*=(type& a, const type& b) { return a = multiply(a, b); }                    \
  inline type& operator/=(type& a, const type& b) { return a = divide(a, b); }                      \
  inline type& operator++(type& a) { return a = add(a, one); }                                      \
  inline type& operator--(type& a) { return a = subtract(a, one); }                                 \
  inline type operator++(type& a, int) {                                                            \
    type before = a;                                                                                \
    ++a;                                                                                            \
    return before;                                                                                  \
  }                                                                                                 \
  inline type operator--(type& a, int) {                                                            \
    type before = a;                                                                                \
    --a;                                                                                            \
    return before;                                                                                  \
  }

// CUDA's != is unordered for both, the other relations are ordered.
#define COTANGENT_HALF_RELATIONS(type, equal, not_equal, less, less_equal, greater, greater_equal)  \
  inline bool operator==(const type& a, const type& b) { return equal(a, b); }                      \
  inline bool operator!=(const type& a, const type& b) { return not_equal(a, b); }                  \
  inline bool operator<(const type& a, const type& b) { return less(a, b); }                        \
  inline bool operator<=(const type& a, const type& b) { return less_equal(a, b); }                 \
  inline bool operator>(const type& a, const type& b) { return greater(a, b); }                     \
  inline bool operator>=(const type& a, const type& b) { return greater_equal(a, b); }

// Atomic addition, by compare and swap of the bits; of pairs for each number,
// which is all that CUDA promises.
#define COTANGENT_HALF_ATOMIC(scalar, pair)                                                         \
  inline scalar atomicAdd(scalar* address, scalar value) {                                          \
    using Word = scalar::Format::Word;                                                              \
    Word* place = reinterpret_cast<Word*>(address);                                                 \
    Word before = __atomic_load_n(place, __ATOMIC_RELAXED);                                         \
    for (;;) {                                                                                      \
      scalar old = ::cotangent::math::bits_as<scalar>(before);                                      \
      Word after = ::cotangent::math::bits_as<Word>(old + value);                                   \
      if (__atomic_compare_exchange_n(place, &before, after, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {\
        return old;                                                                                 \
      }                                                                                             \
    }                                                                                               \
  }                                                                                                 \
  inline pair atomicAdd(pair* address, pair value) {                                                \
    scalar x = atomicAdd(&address->x, value.x);                                                     \
    scalar y = atomicAdd(&address->y, value.y);                                                     \
    return pair(x, y);                                                                              \
  }

#define COTANGENT_HALF_FUNCTIONS(scalar, pair)                                                      \
  COTANGENT_HALF_UNARY(scalar, pair, __hneg, __hneg2, -p)                                           \
  COTANGENT_HALF_UNARY(scalar, pair, __habs, __habs2, fabsf(p))                                     \
  COTANGENT_HALF_BINARY(scalar, pair, __hadd, __hadd2, p + q)                                       \
  COTANGENT_HALF_BINARY(scalar, pair, __hadd_rn, __hadd2_rn, p + q)                                 \
  COTANGENT_HALF_BINARY(scalar, pair, __hadd_sat, __hadd2_sat, ::cotangent::math::saturated(p + q))                  \
  COTANGENT_HALF_BINARY(scalar, pair, __hsub, __hsub2, p - q)                                       \
  COTANGENT_HALF_BINARY(scalar, pair, __hsub_rn, __hsub2_rn, p - q)                                 \
  COTANGENT_HALF_BINARY(scalar, pair, __hsub_sat, __hsub2_sat, ::cotangent::math::saturated(p - q))                  \
  COTANGENT_HALF_BINARY(scalar, pair, __hmul, __hmul2, p* q)                                        \
  COTANGENT_HALF_BINARY(scalar, pair, __hmul_rn, __hmul2_rn, p* q)                                  \
  COTANGENT_HALF_BINARY(scalar, pair, __hmul_sat, __hmul2_sat, ::cotangent::math::saturated(p* q))                   \
  COTANGENT_HALF_BINARY(scalar, pair, __hdiv, __h2div, p / q)                                       \
  COTANGENT_HALF_BINARY(scalar, pair, __hmin, __hmin2, fminf(p, q))                                 \
  COTANGENT_HALF_BINARY(scalar, pair, __hmin_nan, __hmin2_nan, p != p || q != q ? p + q : fminf(p, q)) \
  COTANGENT_HALF_BINARY(scalar, pair, __hmax, __hmax2, fmaxf(p, q))                                 \
  COTANGENT_HALF_BINARY(scalar, pair, __hmax_nan, __hmax2_nan, p != p || q != q ? p + q : fmaxf(p, q)) \
  COTANGENT_HALF_TERNARY(scalar, pair, __hfma, __hfma2, sum)                                        \
  COTANGENT_HALF_TERNARY(scalar, pair, __hfma_sat, __hfma2_sat, sum > 0 ? (sum < 1 ? sum : 1.0) : 0.0) \
  COTANGENT_HALF_TERNARY(scalar, pair, __hfma_relu, __hfma2_relu, sum < 0 ? 0.0 : sum)              \
  COTANGENT_HALF_COMPARISON(scalar, pair, eq, ==)                                                   \
  COTANGENT_HALF_COMPARISON(scalar, pair, ne, !=)                                                   \
  COTANGENT_HALF_COMPARISON(scalar, pair, lt, <)                                                    \
  COTANGENT_HALF_COMPARISON(scalar, pair, le, <=)                                                   \
  COTANGENT_HALF_COMPARISON(scalar, pair, gt, >)                                                    \
  COTANGENT_HALF_COMPARISON(scalar, pair, ge, >=)                                                   \
  COTANGENT_HALF_OPERATORS(scalar, __hadd, __hsub, __hmul, __hdiv, __hneg, scalar(1.0f))            \
  COTANGENT_HALF_OPERATORS(pair, __hadd2, __hsub2, __hmul2, __h2div, __hneg2,                       \
                           pair(scalar(1.0f), scalar(1.0f)))                                        \
  COTANGENT_HALF_RELATIONS(scalar, __heq, __hneu, __hlt, __hle, __hgt, __hge)                       \
  COTANGENT_HALF_RELATIONS(pair, __hbeq2, __hbneu2, __hblt2, __hble2, __hbgt2, __hbge2)             \
  inline bool __hisnan(scalar a) { return isnan(static_cast<float>(a)); }                           \
  inline int __hisinf(scalar a) {                                                                   \
    float p = a;                                                                                    \
    return isinf(p) ? (p < 0 ? -1 : 1) : 0;                                                         \
  }                                                                                                 \
  inline pair __hisnan2(pair a) {                                                                   \
    return pair(scalar(__hisnan(a.x) ? 1.0f : 0.0f), scalar(__hisnan(a.y) ? 1.0f : 0.0f));          \
  }                                                                                                 \
  COTANGENT_HALF_UNARY(scalar, pair, hceil, h2ceil, ceilf(p))                                       \
  COTANGENT_HALF_UNARY(scalar, pair, hcos, h2cos, cosf(p))                                          \
  COTANGENT_HALF_UNARY(scalar, pair, hexp, h2exp, expf(p))                                          \
  COTANGENT_HALF_UNARY(scalar, pair, hexp10, h2exp10, exp10f(p))                                    \
  COTANGENT_HALF_UNARY(scalar, pair, hexp2, h2exp2, exp2f(p))                                       \
  COTANGENT_HALF_UNARY(scalar, pair, hfloor, h2floor, floorf(p))                                    \
  COTANGENT_HALF_UNARY(scalar, pair, hlog, h2log, logf(p))                                          \
  COTANGENT_HALF_UNARY(scalar, pair, hlog10, h2log10, log10f(p))                                    \
  COTANGENT_HALF_UNARY(scalar, pair, hlog2, h2log2, log2f(p))                                       \
  COTANGENT_HALF_UNARY(scalar, pair, hrcp, h2rcp, 1 / p)                                            \
  COTANGENT_HALF_UNARY(scalar, pair, hrint, h2rint, rintf(p))                                       \
  COTANGENT_HALF_UNARY(scalar, pair, hrsqrt, h2rsqrt, 1 / sqrt(static_cast<double>(p)))             \
  COTANGENT_HALF_UNARY(scalar, pair, hsin, h2sin, sinf(p))                                          \
  COTANGENT_HALF_UNARY(scalar, pair, hsqrt, h2sqrt, sqrtf(p))                                       \
  COTANGENT_HALF_UNARY(scalar, pair, htanh, h2tanh, tanhf(p))                                       \
  COTANGENT_HALF_UNARY(scalar, pair, htrunc, h2trunc, truncf(p))                                    \
  COTANGENT_HALF_ATOMIC(scalar, pair)                                                               \
  inline float __low2float(pair a) { return a.x; }                                                  \
  inline float __high2float(pair a) { return a.y; }                                                 \
  inline pair __lowhigh2highlow(pair a) { return pair(a.y, a.x); }

// Conversions in one rounding mode; `name` is how the type is spelled in them.
#define COTANGENT_HALF_ROUNDED(scalar, name, suffix, mode)                                          \
  inline scalar __float2##name##_##suffix(float a) {                                                \
    return scalar(scalar##_raw{::cotangent::math::encode<scalar::Format>(a, mode)});                \
  }                                                                                                 \
  COTANGENT_HALF_INTEGER(scalar, name, suffix, mode, short, short)                                  \
  COTANGENT_HALF_INTEGER(scalar, name, suffix, mode, ushort, unsigned short)                        \
  COTANGENT_HALF_INTEGER(scalar, name, suffix, mode, int, int)                                      \
  COTANGENT_HALF_INTEGER(scalar, name, suffix, mode, uint, unsigned int)                            \
  COTANGENT_HALF_INTEGER(scalar, name, suffix, mode, ll, long long)                                 \
  COTANGENT_HALF_INTEGER(scalar, name, suffix, mode, ull, unsigned long long)

#define COTANGENT_HALF_INTEGER(scalar, name, suffix, mode, word, integer)                           \
  inline integer __##name##2##word##_##suffix(scalar a) {                                           \
    return ::cotangent::math::to_integer<integer>(static_cast<float>(a), mode);                     \
  }                                                                                                 \
  inline scalar __##word##2##name##_##suffix(integer a) {                                           \
    double odd = ::cotangent::math::integer_to_odd(a);                                              \
    return scalar(scalar##_raw{::cotangent::math::encode<scalar::Format>(odd, mode)});              \
  }

// `packed` is how the pair is spelled in its conversions.
#define COTANGENT_HALF_CONVERSIONS(scalar, pair, name, packed)                                      \
  COTANGENT_HALF_ROUNDED(scalar, name, rn, ::cotangent::math::Rounding::nearest)                    \
  COTANGENT_HALF_ROUNDED(scalar, name, rz, ::cotangent::math::Rounding::zero)                       \
  COTANGENT_HALF_ROUNDED(scalar, name, ru, ::cotangent::math::Rounding::up)                         \
  COTANGENT_HALF_ROUNDED(scalar, name, rd, ::cotangent::math::Rounding::down)                       \
  inline signed char __##name##2char_rz(scalar a) { return a; }                                     \
  inline unsigned char __##name##2uchar_rz(scalar a) { return a; }                                  \
  inline scalar __float2##name(float a) { return scalar(a); }                                       \
  inline scalar __double2##name(double a) { return scalar(a); }                                     \
  inline float __##name##2float(scalar a) { return a; }                                             \
  inline pair __float2##packed##_rn(float a) { return pair(scalar(a), scalar(a)); }                 \
  inline pair __floats2##packed##_rn(float a, float b) { return pair(scalar(a), scalar(b)); }       \
  inline pair __float22##packed##_rn(float2 a) { return pair(scalar(a.x), scalar(a.y)); }           \
  inline float2 __##packed##2float2(pair a) {                                                       \
    return float2{static_cast<float>(a.x), static_cast<float>(a.y)};                                \
  }                                                                                                 \
  inline pair __##name##2##packed(scalar a) { return pair(a, a); }                                  \
  inline pair __halves2##packed(scalar a, scalar b) { return pair(a, b); }                          \
  inline scalar __low2##name(pair a) { return a.x; }                                                \
  inline scalar __high2##name(pair a) { return a.y; }                                               \
  inline pair __low2##packed(pair a) { return pair(a.x, a.x); }                                     \
  inline pair __high2##packed(pair a) { return pair(a.y, a.y); }                                    \
  inline pair __lows2##packed(pair a, pair b) { return pair(a.x, b.x); }                            \
  inline pair __highs2##packed(pair a, pair b) { return pair(a.y, b.y); }                           \
  inline pair make_##packed(scalar x, scalar y) { return pair(x, y); }                              \
  inline short __##name##_as_short(scalar a) { return ::cotangent::math::short_of<short>(a); }      \
  inline unsigned short __##name##_as_ushort(scalar a) {                                            \
    return ::cotangent::math::short_of<unsigned short>(a);                                          \
  }                                                                                                 \
  inline scalar __short_as_##name(short a) { return ::cotangent::math::of_short<scalar>(a); }       \
  inline scalar __ushort_as_##name(unsigned short a) { return ::cotangent::math::of_short<scalar>(a); }
