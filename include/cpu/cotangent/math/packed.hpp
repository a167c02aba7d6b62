// Intrinsics on the bytes or half words of 32-bit registers, each lane on its
// own, and the dot products of such registers.
#pragma once

namespace cotangent {
namespace math {

// A register of four bytes or two half words. Lanes are handed to operations
// as int, which holds the value of any lane, and what these return wraps.
template <int Lanes, bool Signed>
struct Packed {
  static constexpr int bits = 32 / Lanes;
  static constexpr int smallest = Signed ? -(1 << (bits - 1)) : 0;
  static constexpr int largest = Signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  static constexpr unsigned int ones = (1u << bits) - 1;

  static int get(unsigned int packed, int lane) {
    unsigned int value = packed >> (lane * bits) & ones;
    return Signed ? static_cast<int>(value << (32 - bits)) >> (32 - bits) : static_cast<int>(value);
  }
  static unsigned int put(int value, int lane) {
    return (static_cast<unsigned int>(value) & ones) << (lane * bits);
  }
  static int saturate(int value) { return value < smallest ? smallest : (value > largest ? largest : value); }

  template <class Operation>
  static unsigned int map(unsigned int a, unsigned int b, Operation operation) {
    unsigned int result = 0;
    for (int lane = 0; lane < Lanes; ++lane) result |= put(operation(get(a, lane), get(b, lane)), lane);
    return result;
  }
  template <class Operation>
  static unsigned int sum(unsigned int a, unsigned int b, Operation operation) {
    unsigned int result = 0;
    for (int lane = 0; lane < Lanes; ++lane) {
      result += static_cast<unsigned int>(operation(get(a, lane), get(b, lane)));
    }
    return result;
  }
};

// The sum of the products of four bytes.
template <class T, bool Signed>
inline T dot4(T a, T b, T c) {
  for (int lane = 0; lane < 4; ++lane) {
    c += static_cast<T>(Packed<4, Signed>::get(static_cast<unsigned int>(a), lane) *
                        Packed<4, Signed>::get(static_cast<unsigned int>(b), lane));
  }
  return c;
}

// The sum of the products of two half words of `a` and two bytes of `b`, from
// byte `first` on.
template <class T, bool Signed>
inline T dot2(T a, T b, T c, int first) {
  for (int lane = 0; lane < 2; ++lane) {
    c += static_cast<T>(Packed<2, Signed>::get(static_cast<unsigned int>(a), lane) *
                        Packed<4, Signed>::get(static_cast<unsigned int>(b), first + lane));
  }
  return c;
}

}  // namespace math
}  // namespace cotangent

#define COTANGENT_PACKED(name, lanes, is_signed, method, expression)                  \
  inline unsigned int name##lanes(unsigned int a, unsigned int b) {                   \
    using Lane = ::cotangent::math::Packed<lanes, is_signed>;            \
    return Lane::method(a, b, [](int x, int y) -> int { return expression; });        \
  }

// Of one operand; the second lane is not used.
#define COTANGENT_PACKED_UNARY(name, lanes, expression)                               \
  inline unsigned int name##lanes(unsigned int a) {                                   \
    using Lane = ::cotangent::math::Packed<lanes, true>;                 \
    return Lane::map(a, a, [](int x, int) -> int { return expression; });             \
  }

#define COTANGENT_BOTH(name, is_signed, method, expression)   \
  COTANGENT_PACKED(name, 2, is_signed, method, expression)    \
  COTANGENT_PACKED(name, 4, is_signed, method, expression)

#define COTANGENT_BOTH_UNARY(name, expression) \
  COTANGENT_PACKED_UNARY(name, 2, expression)  \
  COTANGENT_PACKED_UNARY(name, 4, expression)

// A comparison sets all bits of the lane, or only the lowest.
#define COTANGENT_COMPARISON(suffix, is_signed, relation)                   \
  COTANGENT_BOTH(__vcmp##suffix, is_signed, map, x relation y ? -1 : 0)     \
  COTANGENT_BOTH(__vset##suffix, is_signed, map, x relation y ? 1 : 0)

COTANGENT_BOTH_UNARY(__vabs, x < 0 ? -x : x)
COTANGENT_BOTH_UNARY(__vabsss, Lane::saturate(x < 0 ? -x : x))
COTANGENT_BOTH_UNARY(__vneg, -x)
COTANGENT_BOTH_UNARY(__vnegss, Lane::saturate(-x))
COTANGENT_BOTH(__vabsdiffs, true, map, x < y ? y - x : x - y)
COTANGENT_BOTH(__vabsdiffu, false, map, x < y ? y - x : x - y)
COTANGENT_BOTH(__vadd, false, map, x + y)
COTANGENT_BOTH(__vaddss, true, map, Lane::saturate(x + y))
COTANGENT_BOTH(__vaddus, false, map, Lane::saturate(x + y))
COTANGENT_BOTH(__vavgs, true, map, (x + y + (x + y >= 0 ? 1 : 0)) >> 1)
COTANGENT_BOTH(__vavgu, false, map, (x + y + 1) >> 1)
COTANGENT_BOTH(__vhaddu, false, map, (x + y) >> 1)
COTANGENT_BOTH(__vmaxs, true, map, x < y ? y : x)
COTANGENT_BOTH(__vmaxu, false, map, x < y ? y : x)
COTANGENT_BOTH(__vmins, true, map, x < y ? x : y)
COTANGENT_BOTH(__vminu, false, map, x < y ? x : y)
COTANGENT_BOTH(__vsads, true, sum, x < y ? y - x : x - y)
COTANGENT_BOTH(__vsadu, false, sum, x < y ? y - x : x - y)
COTANGENT_BOTH(__vsub, false, map, x - y)
COTANGENT_BOTH(__vsubss, true, map, Lane::saturate(x - y))
COTANGENT_BOTH(__vsubus, false, map, Lane::saturate(x - y))
COTANGENT_COMPARISON(eq, false, ==)
COTANGENT_COMPARISON(ne, false, !=)
COTANGENT_COMPARISON(ges, true, >=)
COTANGENT_COMPARISON(geu, false, >=)
COTANGENT_COMPARISON(gts, true, >)
COTANGENT_COMPARISON(gtu, false, >)
COTANGENT_COMPARISON(les, true, <=)
COTANGENT_COMPARISON(leu, false, <=)
COTANGENT_COMPARISON(lts, true, <)
COTANGENT_COMPARISON(ltu, false, <)

#undef COTANGENT_PACKED
#undef COTANGENT_PACKED_UNARY
#undef COTANGENT_BOTH
#undef COTANGENT_BOTH_UNARY
#undef COTANGENT_COMPARISON

inline int __dp4a(int a, int b, int c) { return ::cotangent::math::dot4<int, true>(a, b, c); }
inline unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c) {
  return ::cotangent::math::dot4<unsigned int, false>(a, b, c);
}
inline int __dp2a_lo(int a, int b, int c) { return ::cotangent::math::dot2<int, true>(a, b, c, 0); }
inline unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int c) {
  return ::cotangent::math::dot2<unsigned int, false>(a, b, c, 0);
}
inline int __dp2a_hi(int a, int b, int c) { return ::cotangent::math::dot2<int, true>(a, b, c, 2); }
inline unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int c) {
  return ::cotangent::math::dot2<unsigned int, false>(a, b, c, 2);
}
