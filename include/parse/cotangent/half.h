// What half and bfloat16 have in common, as declarations: macros that
// cuda_fp16.h and cuda_bf16.h expand for their types.
//
// `scalar` is the 16-bit type, `pair` the struct of two. CUDA uses one set of
// names for the arithmetic of both and overloads it; only conversions carry
// the type's name.
#pragma once

#include <type_traits>

#include "cuda_runtime.h"

// Each converts to the other, which need not be defined.
struct __half;
struct __nv_bfloat16;

// A scalar type's class: converts from and to every arithmetic type. Its bits
// are private as in CUDA; `raw` is the public struct around the same bits.
#define COTANGENT_HALF_CLASS(scalar, pair, raw, other)                \
  struct __align__(2) raw {                                           \
    unsigned short x;                                                 \
  };                                                                  \
  struct __align__(4) pair##_raw {                                    \
    unsigned short x, y;                                              \
  };                                                                  \
  struct __align__(2) scalar {                                        \
    scalar() = default;                                               \
    __host__ __device__ scalar(const raw& bits);                      \
    template <class T, class = typename std::enable_if<std::is_same<T, other>::value>::type> \
    explicit __host__ __device__ scalar(const T& value);              \
    __host__ __device__ scalar(float value);                          \
    __host__ __device__ scalar(double value);                         \
    __host__ __device__ scalar(short value);                          \
    __host__ __device__ scalar(unsigned short value);                 \
    __host__ __device__ scalar(int value);                            \
    __host__ __device__ scalar(unsigned int value);                   \
    __host__ __device__ scalar(long value);                           \
    __host__ __device__ scalar(unsigned long value);                  \
    __host__ __device__ scalar(long long value);                      \
    __host__ __device__ scalar(unsigned long long value);             \
    __host__ __device__ operator raw() const;                         \
    __host__ __device__ operator float() const;                       \
    __host__ __device__ operator bool() const;                        \
    __host__ __device__ operator char() const;                        \
    __host__ __device__ operator signed char() const;                 \
    __host__ __device__ operator unsigned char() const;               \
    __host__ __device__ operator short() const;                       \
    __host__ __device__ operator unsigned short() const;              \
    __host__ __device__ operator int() const;                         \
    __host__ __device__ operator unsigned int() const;                \
    __host__ __device__ operator long() const;                        \
    __host__ __device__ operator unsigned long() const;               \
    __host__ __device__ operator long long() const;                   \
    __host__ __device__ operator unsigned long long() const;          \
                                                                      \
   protected:                                                         \
    unsigned short __x;                                               \
  };                                                                  \
  struct __align__(4) pair {                                          \
    scalar x, y;                                                      \
    pair() = default;                                                 \
    __host__ __device__ pair(const scalar& low, const scalar& high);  \
    __host__ __device__ pair(const pair##_raw& bits);                 \
    __host__ __device__ operator pair##_raw() const;                  \
  };

// Arithmetic, comparisons, elementary functions, warp shuffles, cached loads and
// atomics of one scalar and its pair. Operators are apart: a program may ask for
// none.
#define COTANGENT_HALF_FUNCTIONS(scalar, pair)                        \
  COTANGENT_HALF_UNARY(scalar, __hneg)                                \
  COTANGENT_HALF_UNARY(scalar, __habs)                                \
  COTANGENT_HALF_BINARY(scalar, __hadd)                               \
  COTANGENT_HALF_BINARY(scalar, __hadd_rn)                            \
  COTANGENT_HALF_BINARY(scalar, __hadd_sat)                           \
  COTANGENT_HALF_BINARY(scalar, __hsub)                               \
  COTANGENT_HALF_BINARY(scalar, __hsub_rn)                            \
  COTANGENT_HALF_BINARY(scalar, __hsub_sat)                           \
  COTANGENT_HALF_BINARY(scalar, __hmul)                               \
  COTANGENT_HALF_BINARY(scalar, __hmul_rn)                            \
  COTANGENT_HALF_BINARY(scalar, __hmul_sat)                           \
  COTANGENT_HALF_BINARY(scalar, __hdiv)                               \
  COTANGENT_HALF_BINARY(scalar, __hmin)                               \
  COTANGENT_HALF_BINARY(scalar, __hmin_nan)                           \
  COTANGENT_HALF_BINARY(scalar, __hmax)                               \
  COTANGENT_HALF_BINARY(scalar, __hmax_nan)                           \
  COTANGENT_HALF_TERNARY(scalar, __hfma)                              \
  COTANGENT_HALF_TERNARY(scalar, __hfma_sat)                          \
  COTANGENT_HALF_TERNARY(scalar, __hfma_relu)                         \
  COTANGENT_HALF_UNARY(pair, __hneg2)                                 \
  COTANGENT_HALF_UNARY(pair, __habs2)                                 \
  COTANGENT_HALF_BINARY(pair, __hadd2)                                \
  COTANGENT_HALF_BINARY(pair, __hadd2_rn)                             \
  COTANGENT_HALF_BINARY(pair, __hadd2_sat)                            \
  COTANGENT_HALF_BINARY(pair, __hsub2)                                \
  COTANGENT_HALF_BINARY(pair, __hsub2_rn)                             \
  COTANGENT_HALF_BINARY(pair, __hsub2_sat)                            \
  COTANGENT_HALF_BINARY(pair, __hmul2)                                \
  COTANGENT_HALF_BINARY(pair, __hmul2_rn)                             \
  COTANGENT_HALF_BINARY(pair, __hmul2_sat)                            \
  COTANGENT_HALF_BINARY(pair, __h2div)                                \
  COTANGENT_HALF_BINARY(pair, __hmin2)                                \
  COTANGENT_HALF_BINARY(pair, __hmin2_nan)                            \
  COTANGENT_HALF_BINARY(pair, __hmax2)                                \
  COTANGENT_HALF_BINARY(pair, __hmax2_nan)                            \
  COTANGENT_HALF_TERNARY(pair, __hfma2)                               \
  COTANGENT_HALF_TERNARY(pair, __hfma2_sat)                           \
  COTANGENT_HALF_TERNARY(pair, __hfma2_relu)                          \
  COTANGENT_HALF_COMPARISONS(scalar, pair, eq)                        \
  COTANGENT_HALF_COMPARISONS(scalar, pair, ne)                        \
  COTANGENT_HALF_COMPARISONS(scalar, pair, lt)                        \
  COTANGENT_HALF_COMPARISONS(scalar, pair, le)                        \
  COTANGENT_HALF_COMPARISONS(scalar, pair, gt)                        \
  COTANGENT_HALF_COMPARISONS(scalar, pair, ge)                        \
  __host__ __device__ bool __hisnan(scalar a);                        \
  __host__ __device__ int __hisinf(scalar a);                         \
  __host__ __device__ pair __hisnan2(pair a);                         \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, ceil)                       \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, cos)                        \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, exp)                        \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, exp10)                      \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, exp2)                       \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, floor)                      \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, log)                        \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, log10)                      \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, log2)                       \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, rcp)                        \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, rint)                       \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, rsqrt)                      \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, sin)                        \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, sqrt)                       \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, tanh)                       \
  COTANGENT_HALF_ELEMENTARY(scalar, pair, trunc)                      \
  COTANGENT_HALF_MEMORY(scalar)                                       \
  COTANGENT_HALF_MEMORY(pair)                                         \
  __host__ __device__ float __low2float(pair a);                      \
  __host__ __device__ float __high2float(pair a);                     \
  __host__ __device__ pair __lowhigh2highlow(pair a);

#define COTANGENT_HALF_UNARY(type, name) __host__ __device__ type name(type a);
#define COTANGENT_HALF_BINARY(type, name) __host__ __device__ type name(type a, type b);
#define COTANGENT_HALF_TERNARY(type, name) __device__ type name(type a, type b, type c);

#define COTANGENT_HALF_ELEMENTARY(scalar, pair, name)                 \
  __device__ scalar h##name(scalar a);                                \
  __device__ pair h2##name(pair a);

// Ordered and unordered; for pairs the elementwise result as 1.0 or 0.0, as a
// mask of 16 bits each, and whether it holds for both.
#define COTANGENT_HALF_COMPARISONS(scalar, pair, relation)            \
  __host__ __device__ bool __h##relation(scalar a, scalar b);         \
  __host__ __device__ bool __h##relation##u(scalar a, scalar b);      \
  __host__ __device__ pair __h##relation##2(pair a, pair b);          \
  __host__ __device__ pair __h##relation##u2(pair a, pair b);         \
  __host__ __device__ bool __hb##relation##2(pair a, pair b);         \
  __host__ __device__ bool __hb##relation##u2(pair a, pair b);        \
  __host__ __device__ unsigned int __h##relation##2_mask(pair a, pair b); \
  __host__ __device__ unsigned int __h##relation##u2_mask(pair a, pair b);

#define COTANGENT_HALF_OPERATORS(type)                                \
  __host__ __device__ type operator+(const type& a);                  \
  __host__ __device__ type operator-(const type& a);                  \
  __host__ __device__ type operator+(const type& a, const type& b);   \
  __host__ __device__ type operator-(const type& a, const type& b);   \
  __host__ __device__ type operator*(const type& a, const type& b);   \
  __host__ __device__ type operator/(const type& a, const type& b);   \
  __host__ __device__ type& operator+=(type& a, const type& b);       \
  __host__ __device__ type& operator-=(type& a, const type& b);       \
  __host__ __device__ type& operator*=(type& a, const type& b);       \
  __host__ __device__ type& operator/=(type& a, const type& b);       \
  __host__ __device__ type& operator++(type& a);                      \
  __host__ __device__ type& operator--(type& a);                      \
  __host__ __device__ type operator++(type& a, int);                  \
  __host__ __device__ type operator--(type& a, int);                  \
  __host__ __device__ bool operator==(const type& a, const type& b);  \
  __host__ __device__ bool operator!=(const type& a, const type& b);  \
  __host__ __device__ bool operator<(const type& a, const type& b);   \
  __host__ __device__ bool operator<=(const type& a, const type& b);  \
  __host__ __device__ bool operator>(const type& a, const type& b);   \
  __host__ __device__ bool operator>=(const type& a, const type& b);

#define COTANGENT_HALF_MEMORY(type)                                   \
  __device__ type __shfl_sync(unsigned int mask, type value, int lane, int width = 32);              \
  __device__ type __shfl_up_sync(unsigned int mask, type value, unsigned int delta, int width = 32);   \
  __device__ type __shfl_down_sync(unsigned int mask, type value, unsigned int delta, int width = 32); \
  __device__ type __shfl_xor_sync(unsigned int mask, type value, int lane_mask, int width = 32);     \
  __device__ type __ldg(const type* address);                         \
  __device__ type __ldca(const type* address);                        \
  __device__ type __ldcg(const type* address);                        \
  __device__ type __ldcs(const type* address);                        \
  __device__ type __ldcv(const type* address);                        \
  __device__ type __ldlu(const type* address);                        \
  __device__ void __stcg(type* address, type value);                  \
  __device__ void __stcs(type* address, type value);                  \
  __device__ void __stwb(type* address, type value);                  \
  __device__ void __stwt(type* address, type value);                  \
  __device__ type atomicAdd(type* address, type value);

// Conversions in four rounding modes; `name` is how the type is spelled in the
// names of its conversions.
#define COTANGENT_HALF_INTEGERS(scalar, name, mode)                                   \
  __host__ __device__ scalar __float2##name##_##mode(float a);                        \
  __host__ __device__ short __##name##2short_##mode(scalar a);                        \
  __host__ __device__ unsigned short __##name##2ushort_##mode(scalar a);              \
  __host__ __device__ int __##name##2int_##mode(scalar a);                            \
  __host__ __device__ unsigned int __##name##2uint_##mode(scalar a);                  \
  __host__ __device__ long long __##name##2ll_##mode(scalar a);                       \
  __host__ __device__ unsigned long long __##name##2ull_##mode(scalar a);             \
  __host__ __device__ scalar __short2##name##_##mode(short a);                        \
  __host__ __device__ scalar __ushort2##name##_##mode(unsigned short a);              \
  __host__ __device__ scalar __int2##name##_##mode(int a);                            \
  __host__ __device__ scalar __uint2##name##_##mode(unsigned int a);                  \
  __host__ __device__ scalar __ll2##name##_##mode(long long a);                       \
  __host__ __device__ scalar __ull2##name##_##mode(unsigned long long a);

// `packed` is how the pair is spelled in the names of its conversions.
#define COTANGENT_HALF_CONVERSIONS(scalar, pair, name, packed)                        \
  COTANGENT_HALF_INTEGERS(scalar, name, rn)                                           \
  COTANGENT_HALF_INTEGERS(scalar, name, rz)                                           \
  COTANGENT_HALF_INTEGERS(scalar, name, ru)                                           \
  COTANGENT_HALF_INTEGERS(scalar, name, rd)                                           \
  __host__ __device__ signed char __##name##2char_rz(scalar a);                       \
  __host__ __device__ unsigned char __##name##2uchar_rz(scalar a);                    \
  __host__ __device__ scalar __float2##name(float a);                                 \
  __host__ __device__ scalar __double2##name(double a);                               \
  __host__ __device__ float __##name##2float(scalar a);                               \
  __host__ __device__ pair __float2##packed##_rn(float a);                            \
  __host__ __device__ pair __floats2##packed##_rn(float a, float b);                  \
  __host__ __device__ pair __float22##packed##_rn(float2 a);                          \
  __host__ __device__ float2 __##packed##2float2(pair a);                             \
  __host__ __device__ pair __##name##2##packed(scalar a);                             \
  __host__ __device__ pair __halves2##packed(scalar a, scalar b);                     \
  __host__ __device__ scalar __low2##name(pair a);                                    \
  __host__ __device__ scalar __high2##name(pair a);                                   \
  __host__ __device__ pair __low2##packed(pair a);                                    \
  __host__ __device__ pair __high2##packed(pair a);                                   \
  __host__ __device__ pair __lows2##packed(pair a, pair b);                           \
  __host__ __device__ pair __highs2##packed(pair a, pair b);                          \
  __host__ __device__ pair make_##packed(scalar x, scalar y);                         \
  __host__ __device__ short __##name##_as_short(scalar a);                            \
  __host__ __device__ unsigned short __##name##_as_ushort(scalar a);                  \
  __host__ __device__ scalar __short_as_##name(short a);                              \
  __host__ __device__ scalar __ushort_as_##name(unsigned short a);
