// Conversions with the rounding mode in the name, and between numbers and bits.
//
// As on the hardware, a conversion to an integer saturates. Not-a-number
// becomes 0, or the smallest signed value (its bits, for an unsigned result)
// if either type has 64 bits.
#pragma once

#include <math.h>
#include <string.h>

#include <limits>
#include <type_traits>

namespace cotangent {
namespace math {

enum class Rounding { nearest, zero, up, down };

template <class Float>
inline Float round_to_whole(Float x, Rounding mode) {
  switch (mode) {
    case Rounding::nearest: return std::rint(x);
    case Rounding::zero: return std::trunc(x);
    case Rounding::up: return std::ceil(x);
    case Rounding::down: return std::floor(x);
  }
  __builtin_unreachable();
}

template <class Integer, class Float>
inline Integer to_integer(Float x, Rounding mode) {
  if (std::isnan(x)) {
    bool wide = sizeof(Integer) == 8 || sizeof(Float) == 8;
    return wide ? static_cast<Integer>(typename std::make_unsigned<Integer>::type(1) << (8 * sizeof(Integer) - 1))
                : Integer(0);
  }
  Float whole = round_to_whole(x, mode);
  // Both bounds are powers of two, or zero, and so exact.
  Float beyond = std::ldexp(Float(1), std::numeric_limits<Integer>::digits);
  if (whole >= beyond) return std::numeric_limits<Integer>::max();
  if (whole < (std::is_signed<Integer>::value ? -beyond : Float(0))) return std::numeric_limits<Integer>::min();
  return static_cast<Integer>(whole);
}

// Given `nearest` and on which side of the exact value it lies (-1 below, 0 on
// it, 1 above), the neighbour that `mode` asks for.
template <class Float>
inline Float step_to_mode(Float nearest, int side, Rounding mode) {
  Float infinity = std::numeric_limits<Float>::infinity();
  bool negative = std::signbit(nearest);
  bool too_high = side > 0 && (mode == Rounding::down || (mode == Rounding::zero && !negative));
  bool too_low = side < 0 && (mode == Rounding::up || (mode == Rounding::zero && negative));
  if (too_high) return std::nextafter(nearest, -infinity);
  if (too_low) return std::nextafter(nearest, infinity);
  return nearest;
}

template <class Float, class Integer>
inline Float from_integer(Integer x, Rounding mode) {
  Float nearest = static_cast<Float>(x);
  __int128 back = static_cast<__int128>(nearest);
  __int128 exact = x;
  return step_to_mode(nearest, back > exact ? 1 : (back < exact ? -1 : 0), mode);
}

inline float to_float(double x, Rounding mode) {
  float nearest = static_cast<float>(x);
  double back = nearest;
  return step_to_mode(nearest, back > x ? 1 : (back < x ? -1 : 0), mode);
}

// The same bits as another type of the same size.
template <class To, class From>
inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as needs types of one size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace math
}  // namespace cotangent

#define COTANGENT_CONVERSION(name, result, argument, function) \
  inline result name(argument x) { return function; }

#define COTANGENT_CONVERSIONS(suffix, mode)                                                                    \
  COTANGENT_CONVERSION(__double2float_##suffix, float, double, ::cotangent::math::to_float(x, mode))           \
  COTANGENT_CONVERSION(__double2int_##suffix, int, double, ::cotangent::math::to_integer<int>(x, mode))        \
  COTANGENT_CONVERSION(__double2uint_##suffix, unsigned int, double,                                           \
                       ::cotangent::math::to_integer<unsigned int>(x, mode))                                   \
  COTANGENT_CONVERSION(__double2ll_##suffix, long long, double,                                                \
                       ::cotangent::math::to_integer<long long>(x, mode))                                      \
  COTANGENT_CONVERSION(__double2ull_##suffix, unsigned long long, double,                                      \
                       ::cotangent::math::to_integer<unsigned long long>(x, mode))                             \
  COTANGENT_CONVERSION(__float2int_##suffix, int, float, ::cotangent::math::to_integer<int>(x, mode))          \
  COTANGENT_CONVERSION(__float2uint_##suffix, unsigned int, float,                                             \
                       ::cotangent::math::to_integer<unsigned int>(x, mode))                                   \
  COTANGENT_CONVERSION(__float2ll_##suffix, long long, float,                                                  \
                       ::cotangent::math::to_integer<long long>(x, mode))                                      \
  COTANGENT_CONVERSION(__float2ull_##suffix, unsigned long long, float,                                        \
                       ::cotangent::math::to_integer<unsigned long long>(x, mode))                             \
  COTANGENT_CONVERSION(__int2float_##suffix, float, int, ::cotangent::math::from_integer<float>(x, mode))      \
  COTANGENT_CONVERSION(__uint2float_##suffix, float, unsigned int,                                             \
                       ::cotangent::math::from_integer<float>(x, mode))                                        \
  COTANGENT_CONVERSION(__ll2float_##suffix, float, long long, ::cotangent::math::from_integer<float>(x, mode)) \
  COTANGENT_CONVERSION(__ull2float_##suffix, float, unsigned long long,                                        \
                       ::cotangent::math::from_integer<float>(x, mode))                                        \
  COTANGENT_CONVERSION(__ll2double_##suffix, double, long long,                                                \
                       ::cotangent::math::from_integer<double>(x, mode))                                       \
  COTANGENT_CONVERSION(__ull2double_##suffix, double, unsigned long long,                                      \
                       ::cotangent::math::from_integer<double>(x, mode))

COTANGENT_CONVERSIONS(rn, ::cotangent::math::Rounding::nearest)
COTANGENT_CONVERSIONS(rz, ::cotangent::math::Rounding::zero)
COTANGENT_CONVERSIONS(ru, ::cotangent::math::Rounding::up)
COTANGENT_CONVERSIONS(rd, ::cotangent::math::Rounding::down)

COTANGENT_CONVERSION(__int2double_rn, double, int, x)
COTANGENT_CONVERSION(__uint2double_rn, double, unsigned int, x)
COTANGENT_CONVERSION(__float_as_int, int, float, ::cotangent::math::bits_as<int>(x))
COTANGENT_CONVERSION(__float_as_uint, unsigned int, float, ::cotangent::math::bits_as<unsigned int>(x))
COTANGENT_CONVERSION(__int_as_float, float, int, ::cotangent::math::bits_as<float>(x))
COTANGENT_CONVERSION(__uint_as_float, float, unsigned int, ::cotangent::math::bits_as<float>(x))
COTANGENT_CONVERSION(__double_as_longlong, long long, double, ::cotangent::math::bits_as<long long>(x))
COTANGENT_CONVERSION(__longlong_as_double, double, long long, ::cotangent::math::bits_as<double>(x))

#undef COTANGENT_CONVERSIONS
#undef COTANGENT_CONVERSION

inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  unsigned long long bits = static_cast<unsigned long long>(static_cast<unsigned int>(high)) << 32;
  return ::cotangent::math::bits_as<double>(bits | static_cast<unsigned int>(low));
}
