// 16-bit floating-point formats as bits: conversion from and to wider types,
// correctly rounded. Integer arithmetic only, so that the result does not
// depend on what the processor offers.
#pragma once

#include <math.h>

#include "cotangent/math/convert.hpp"

namespace cotangent {
namespace math {

// A 16-bit format with this many bits of fraction; the exponent has the rest.
template <int FractionBits>
struct Format16 {
  using Bits = unsigned short;
  using Word = unsigned short;
  using Real = float;
  static constexpr int fraction_bits = FractionBits;
  static constexpr int exponent_bits = 15 - FractionBits;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr unsigned int infinity = ((1u << exponent_bits) - 1) << FractionBits;
  static constexpr unsigned int not_a_number = 0x7fff;
};

// What stands for a 16-bit format where a text is widened: a double, which is
// not rounded.
template <class Narrow16>
struct WideFormat {
  using Bits = double;
  using Word = unsigned long long;
  using Real = double;
  using Narrow = Narrow16;
};

#ifdef COTANGENT_WIDE_HALF
using HalfFormat = WideFormat<Format16<10>>;
using Bfloat16Format = WideFormat<Format16<7>>;
#else
using HalfFormat = Format16<10>;
using Bfloat16Format = Format16<7>;
#endif

// Rounds a double to the format. The fraction, with its hidden bit, is shifted
// right until its last bit has the weight of the format's; what falls off
// decides the rounding. A carry runs into the exponent, which is as it should.
template <class Format>
inline typename Format::Bits encode(double value, Rounding mode) {
  unsigned long long bits = bits_as<unsigned long long>(value);
  bool negative = bits >> 63 != 0;
  unsigned int sign = negative ? 0x8000u : 0;
  int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  unsigned long long fraction = bits & ((1ull << 52) - 1);
  if (exponent == 0x7ff) {
    return static_cast<unsigned short>(fraction != 0 ? Format::not_a_number : sign | Format::infinity);
  }
  if (exponent != 0) fraction |= 1ull << 52;
  int target = exponent - 1023 + Format::bias;
  int shift = 52 - Format::fraction_bits + (target < 1 ? 1 - target : 0);
  if (shift > 63) shift = 63;
  unsigned long long kept = fraction >> shift;
  unsigned long long rest = fraction & ((1ull << shift) - 1);
  unsigned long long half = 1ull << (shift - 1);
  bool away = false;
  switch (mode) {
    case Rounding::nearest: away = rest > half || (rest == half && (kept & 1) != 0); break;
    case Rounding::zero: break;
    case Rounding::up: away = rest != 0 && !negative; break;
    case Rounding::down: away = rest != 0 && negative; break;
  }
  // A normal number's hidden bit, still in `kept`, counts one for the exponent.
  long long result = static_cast<long long>(kept) + (away ? 1 : 0);
  if (target > 1) result += static_cast<long long>(target - 1) << Format::fraction_bits;
  if (result >= Format::infinity) {
    bool to_infinity = mode == Rounding::nearest || mode == (negative ? Rounding::down : Rounding::up);
    result = to_infinity ? Format::infinity : Format::infinity - 1;
  }
  return static_cast<unsigned short>(sign | static_cast<unsigned int>(result));
}

// Exact.
template <class Format>
inline typename Format::Real decode(typename Format::Bits bits) {
  unsigned int sign = static_cast<unsigned int>(bits & 0x8000) << 16;
  unsigned int rest = bits & 0x7fffu;
  if (rest >= Format::infinity) {
    unsigned int fraction = (rest - Format::infinity) << (23 - Format::fraction_bits);
    return bits_as<float>(sign | 0x7f800000u | fraction);
  }
  if (Format::bias == 127) return bits_as<float>(static_cast<unsigned int>(bits) << 16);
  if (rest < 1u << Format::fraction_bits) {
    float weight = bits_as<float>((127u - Format::bias + 1 - Format::fraction_bits) << 23);
    float size = static_cast<float>(rest) * weight;
    return sign != 0 ? -size : size;
  }
  return bits_as<float>(sign | ((rest << (23 - Format::fraction_bits)) + ((127u - Format::bias) << 23)));
}

#ifdef COTANGENT_WIDE_HALF
template <>
inline double encode<HalfFormat>(double value, Rounding) { return value; }
template <>
inline double encode<Bfloat16Format>(double value, Rounding) { return value; }
template <>
inline double decode<HalfFormat>(double value) { return value; }
template <>
inline double decode<Bfloat16Format>(double value) { return value; }

// The bits that a value would have as a number of 16 bits, and back.
template <class Short, class Scalar>
inline Short short_of(Scalar a) {
  double value = a;
  return bits_as<Short>(encode<typename Scalar::Format::Narrow>(value, Rounding::nearest));
}
template <class Scalar, class Short>
inline Scalar of_short(Short a) {
  return Scalar(decode<typename Scalar::Format::Narrow>(bits_as<unsigned short>(a)));
}
#else
// A value's bits, and back.
template <class Short, class Scalar>
inline Short short_of(Scalar a) { return bits_as<Short>(a); }
template <class Scalar, class Short>
inline Scalar of_short(Short a) { return bits_as<Scalar>(a); }
#endif

// Clamped to what is between 0 and 1; 0 for NaN.
template <class Real>
inline Real saturated(Real x) { return x > 0 ? (x < 1 ? x : Real(1)) : Real(0); }

// x + y in double, rounded to odd: if the sum is inexact, the result's last bit
// is one. Rounding such a result again to few bits gives what rounding the
// exact sum would give.
inline double add_to_odd(double x, double y) {
  double sum = x + y;
  if (!std::isfinite(sum)) return sum;
  double from_y = sum - x;
  double error = (x - (sum - from_y)) + (y - from_y);
  if (error == 0 || (bits_as<unsigned long long>(sum) & 1) != 0) return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VAL : -HUGE_VAL);
}

// A 64-bit integer in double, rounded to odd.
template <class Integer>
inline double integer_to_odd(Integer x) {
  double toward_zero = from_integer<double>(x, Rounding::zero);
  if (static_cast<__int128>(toward_zero) == static_cast<__int128>(x)) return toward_zero;
  return bits_as<double>(bits_as<unsigned long long>(toward_zero) | 1);
}

}  // namespace math
}  // namespace cotangent
