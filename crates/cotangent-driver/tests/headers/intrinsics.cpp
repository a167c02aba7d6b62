// Tests the intrinsics of the CPU: directed rounding against exact arithmetic
// in 128-bit floating point, conversions against exact comparisons, integer and
// packed operations against their definitions bit by bit.
#include "host_defines.h"
#include "cotangent/math.hpp"

#include "check.hpp"

#if defined(__x86_64__)
using Wide = __float128;
#else
using Wide = long double;
#endif

namespace {

// The four roundings of one exact value: neighbours on both sides of it.
template <class T>
void expect_rounded(const char* name, Wide exact, T nearest, T zero, T up, T down) {
  EXPECT(Wide(down) <= exact && exact <= Wide(up), "%s: %a .. %a", name, double(down), double(up));
  EXPECT(down == up || std::nextafter(down, T(HUGE_VAL)) == up, "%s: %a and %a", name, double(down), double(up));
  EXPECT(zero == (exact < 0 ? up : down), "%s: %a", name, double(zero));
  Wide to_nearest = exact - Wide(nearest);
  Wide to_up = Wide(up) - exact;
  Wide to_down = exact - Wide(down);
  if (to_nearest < 0) to_nearest = -to_nearest;
  EXPECT(to_nearest <= to_up && to_nearest <= to_down, "%s: %a", name, double(nearest));
}

// Exponents within a range in which sums and products are exact in 113 bits.
template <class T>
T random_number() {
  T fraction = T(1) + T(next_random() >> 11) / T(9007199254740992.0);
  T value = std::ldexp(fraction, static_cast<int>(next_random() % 12));
  return next_random() % 2 == 0 ? value : -value;
}

#define ROUNDED(prefix, exact, ...)                                                                \
  expect_rounded(#prefix, exact, prefix##_rn(__VA_ARGS__), prefix##_rz(__VA_ARGS__), prefix##_ru(__VA_ARGS__), \
                 prefix##_rd(__VA_ARGS__))

// Quotients and roots are not exact in any precision, so they are checked by
// multiplying back: x / y <= r is x <= r * y.
template <class T>
void expect_quotient(const char* name, T x, T y, T up, T down) {
  Wide low = Wide(down) * Wide(y), high = Wide(up) * Wide(y);
  if (y < 0) std::swap(low, high);
  EXPECT(low <= Wide(x) && Wide(x) <= high, "%s: %a / %a", name, double(x), double(y));
  EXPECT(down == up || std::nextafter(down, T(HUGE_VAL)) == up, "%s: %a and %a", name, double(down), double(up));
}
template <class T>
void expect_root(const char* name, T x, T up, T down) {
  EXPECT(Wide(down) * down <= Wide(x) && Wide(x) <= Wide(up) * up, "%s: %a", name, double(x));
  EXPECT(down == up || std::nextafter(down, T(HUGE_VAL)) == up, "%s: %a and %a", name, double(down), double(up));
}

void arithmetic() {
  for (int i = 0; i < 20000; ++i) {
    float x = random_number<float>(), y = random_number<float>(), z = random_number<float>();
    ROUNDED(__fadd, Wide(x) + Wide(y), x, y);
    ROUNDED(__fsub, Wide(x) - Wide(y), x, y);
    ROUNDED(__fmul, Wide(x) * Wide(y), x, y);
    ROUNDED(__fmaf, Wide(x) * Wide(y) + Wide(z), x, y, z);
    expect_quotient("__fdiv", x, y, __fdiv_ru(x, y), __fdiv_rd(x, y));
    expect_quotient("__frcp", 1.0f, y, __frcp_ru(y), __frcp_rd(y));
    expect_root("__fsqrt", fabsf(x), __fsqrt_ru(fabsf(x)), __fsqrt_rd(fabsf(x)));
    double a = random_number<double>(), b = random_number<double>();
    ROUNDED(__dadd, Wide(a) + Wide(b), a, b);
    ROUNDED(__dsub, Wide(a) - Wide(b), a, b);
    ROUNDED(__dmul, Wide(a) * Wide(b), a, b);
    ROUNDED(__double2float, Wide(a), a);
    expect_quotient("__ddiv", a, b, __ddiv_ru(a, b), __ddiv_rd(a, b));
    expect_root("__dsqrt", fabs(a), __dsqrt_ru(fabs(a)), __dsqrt_rd(fabs(a)));
    EXPECT(__fdiv_rz(x, y) == ((x < 0) == (y < 0) ? __fdiv_rd(x, y) : __fdiv_ru(x, y)), "%a / %a", x, y);
  }
  EXPECT(1.0f + 1e-30f == 1.0f, "the rounding mode was not restored");
}

void conversions() {
  for (int i = 0; i < 20000; ++i) {
    long long wide = static_cast<long long>(next_random()) >> (next_random() % 60);
    unsigned long long natural = next_random() >> (next_random() % 60);
    ROUNDED(__ll2float, Wide(wide), wide);
    ROUNDED(__ull2float, Wide(natural), natural);
    ROUNDED(__ll2double, Wide(wide), wide);
    ROUNDED(__ull2double, Wide(natural), natural);
    ROUNDED(__int2float, Wide(int(wide)), int(wide));
    ROUNDED(__uint2float, Wide(unsigned(natural)), unsigned(natural));
    double x = random_number<double>() / 64;
    EXPECT(__double2int_rz(x) == int(x) && __float2int_rz(float(x)) == int(float(x)), "%a", x);
    EXPECT(__double2int_rd(x) == int(floor(x)) && __double2ll_ru(x) == (long long)ceil(x), "%a", x);
    EXPECT(__hiloint2double(__double2hiint(x), __double2loint(x)) == x, "%a", x);
    EXPECT(__longlong_as_double(__double_as_longlong(x)) == x, "%a", x);
    EXPECT(__int_as_float(__float_as_int(float(x))) == float(x), "%a", x);
  }
  EXPECT(__float2int_rn(2.5f) == 2 && __float2int_rn(3.5f) == 4 && __float2int_rn(-2.5f) == -2, "ties to even");
  EXPECT(__float2int_rz(1e20f) == 2147483647 && __float2int_rz(-1e20f) == -2147483647 - 1, "saturation");
  EXPECT(__float2uint_rz(-1.0f) == 0 && __float2uint_rn(1e20f) == 0xffffffffu, "saturation");
  EXPECT(__double2ull_rn(1e30) == ~0ull && __double2ll_rn(-1e30) == (-9223372036854775807ll - 1), "saturation");
  EXPECT(__float2int_rn(NAN) == 0 && __double2int_rn(NAN) == -2147483647 - 1, "not a number");
  EXPECT(__double2float_rz(1e300) == std::numeric_limits<float>::max(), "towards zero stays finite");
  EXPECT(__double2float_ru(1e300) == HUGE_VALF && __double2float_rd(-1e300) == -HUGE_VALF, "outwards is infinite");
  EXPECT(__saturatef(NAN) == 0 && __saturatef(2) == 1 && __saturatef(-1) == 0 && __saturatef(0.5f) == 0.5f, "clamp");
}

int bit(unsigned int x, int i) { return i >= 0 && i < 32 ? int(x >> i & 1) : 0; }

void integers() {
  EXPECT(__clz(0) == 32 && __clzll(0) == 64 && __ffs(0) == 0 && __ffsll(0) == 0, "zero");
  for (int i = 0; i < 5000; ++i) {
    unsigned int x = unsigned(next_random() >> (next_random() % 32)), y = unsigned(next_random());
    unsigned int shift = unsigned(next_random() % 40);
    int count = 0, first = 0, leading = 32;
    unsigned int reversed = 0;
    for (int b = 0; b < 32; ++b) {
      count += bit(x, b);
      if (bit(x, 31 - b)) first = 32 - b;
      if (bit(x, b)) leading = 31 - b;
      reversed |= unsigned(bit(x, b)) << (31 - b);
    }
    EXPECT(__popc(x) == count && __ffs(int(x)) == first && __clz(int(x)) == leading, "%x", x);
    EXPECT(__brev(x) == reversed && __brevll((unsigned long long)x << 32) == reversed, "%x", x);
    unsigned int left = 0, right = 0;
    for (int b = 0; b < 32; ++b) {
      int from = b - int(shift & 31);
      left |= unsigned(from >= 0 ? bit(y, from) : bit(x, from + 32)) << b;
      from = b + int(shift & 31);
      right |= unsigned(from < 32 ? bit(x, from) : bit(y, from - 32)) << b;
    }
    EXPECT(__funnelshift_l(x, y, shift) == left && __funnelshift_r(x, y, shift) == right, "%x %x %u", x, y, shift);
    EXPECT(__funnelshift_lc(x, y, shift) == (shift < 32 ? left : x), "%x %x %u", x, y, shift);
    EXPECT(__funnelshift_rc(x, y, shift) == (shift < 32 ? right : y), "%x %x %u", x, y, shift);
    EXPECT(__umulhi(x, y) == unsigned((__int128(x) * y) >> 32), "%x %x", x, y);
    EXPECT(__mulhi(int(x), int(y)) == int((__int128(int(x)) * int(y)) >> 32), "%x %x", x, y);
    EXPECT(__sad(int(x), int(y), 5) == unsigned(llabs((long long)int(x) - int(y)) + 5), "%x %x", x, y);
    EXPECT(__byte_perm(x, y, 0x3210) == x && __byte_perm(x, y, 0x7654) == y, "%x %x", x, y);
    EXPECT(__byte_perm(x, y, 0x0123) == __builtin_bswap32(x), "%x", x);
  }
  EXPECT(__mul24(0x00ffffff, 3) == -3 && __umul24(0x01000002, 3) == 6, "24 bits");
  EXPECT(__hadd(-3, 0) == -2 && __rhadd(-3, 0) == -1 && __uhadd(~0u, ~0u) == ~0u, "averages");
  EXPECT(__fns(0b101100, 0, 2) == 3 && __fns(0b101100, 31, -1) == 5 && __fns(0b100, 0, 2) == ~0u, "nth bit");
}

void packed() {
  EXPECT(__vadd4(0x01ff7f80u, 0x01010101u) == 0x02008081u, "%x", __vadd4(0x01ff7f80u, 0x01010101u));
  EXPECT(__vaddus4(0x01ff7f80u, 0x01010101u) == 0x02ff8081u, "unsigned saturation");
  EXPECT(__vaddss4(0x01ff7f80u, 0x01010101u) == 0x02007f81u, "signed saturation");
  EXPECT(__vsub2(0x00010000u, 0x00020001u) == 0xffffffffu, "wraps by lane");
  EXPECT(__vabsdiffu4(0x01020304u, 0x04030201u) == 0x03010103u, "difference");
  EXPECT(__vsadu4(0x01020304u, 0x04030201u) == 8, "sum of differences");
  EXPECT(__vcmpgts2(0x0001ffffu, 0x00000000u) == 0xffff0000u, "signed comparison");
  EXPECT(__vsetgtu2(0x0001ffffu, 0x00000000u) == 0x00010001u, "unsigned comparison");
  EXPECT(__vmins4(0x7f80ff01u, 0u) == 0x0080ff00u && __vmaxu4(0x7f80ff01u, 0u) == 0x7f80ff01u, "extremes");
  EXPECT(__vabs4(0x80ff7f00u) == 0x80017f00u && __vabsss4(0x80ff7f00u) == 0x7f017f00u, "absolute value");
  EXPECT(__vavgu4(0x00000001u, 0x00000002u) == 2 && __vhaddu4(0x00000001u, 0x00000002u) == 1, "averages");
  EXPECT(__dp4a(0x01ff0203, 0x01020304, 5) == 1 - 2 + 6 + 12 + 5, "dot product");
  EXPECT(__dp4a(0x01ff0203u, 0x01020304u, 5u) == 1 + 510 + 6 + 12 + 5, "unsigned dot product");
  EXPECT(__dp2a_lo(0x00020003, 0x01020304, 0) == 6 + 12 && __dp2a_hi(0x00020003, 0x01020304, 0) == 2 + 6, "halves");
}

void minimum_and_maximum() {
  EXPECT(min(-1, 1u) == 1u && max(-1, 1u) == 0xffffffffu, "mixed signs compare as unsigned");
  EXPECT(min(NAN, 1.0f) == 1.0f && max(1.0, double(NAN)) == 1.0 && min(1.0f, 2.0) == 1.0, "not a number loses");
  EXPECT(max(3ll, -4ll) == 3 && min(3ul, 4ul) == 3 && ullmax(1, 2) == 2, "wide");
}

}  // namespace

int main() {
  arithmetic();
  conversions();
  integers();
  packed();
  minimum_and_maximum();
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
