// Tests the rounding of half and bfloat16 on the CPU. What a value must round
// to is found by search among all values of the format, not by the code under
// test.
#include "host_defines.h"
#include "cotangent/half_bits.hpp"
#include "cotangent/math.hpp"

#include "check.hpp"

namespace {

using namespace cotangent::math;

template <class Format>
double value_of(unsigned int bits) {
  return decode<Format>(static_cast<unsigned short>(bits));
}

// The largest value of the format that is not above x, for finite x >= 0.
template <class Format>
unsigned int below(double x) {
  unsigned int low = 0, high = Format::infinity;
  while (high - low > 1) {
    unsigned int middle = (low + high) / 2;
    (value_of<Format>(middle) <= x ? low : high) = middle;
  }
  return low;
}

template <class Format>
void expect_encoded(double x) {
  double size = std::fabs(x);
  unsigned int sign = std::signbit(x) ? 0x8000u : 0;
  unsigned int low = below<Format>(size);
  bool exact = value_of<Format>(low) == size;
  unsigned int high = exact ? low : low + 1;
  // One step beyond the largest value rounds as if the exponent went on.
  double step = value_of<Format>(Format::infinity - 1) - value_of<Format>(Format::infinity - 2);
  double above = high == Format::infinity ? value_of<Format>(low) + step : value_of<Format>(high);
  double to_low = size - value_of<Format>(low), to_high = above - size;
  unsigned int nearest = to_low < to_high || (to_low == to_high && low % 2 == 0) ? low : high;
  EXPECT(encode<Format>(x, Rounding::nearest) == (sign | nearest), "%a", x);
  EXPECT(encode<Format>(x, Rounding::zero) == (sign | low), "%a", x);
  EXPECT(encode<Format>(x, Rounding::up) == (sign | (sign != 0 ? low : high)), "%a", x);
  EXPECT(encode<Format>(x, Rounding::down) == (sign | (sign != 0 ? high : low)), "%a", x);
}

template <class Format>
void format(int smallest_exponent, int largest_exponent) {
  for (unsigned int bits = 0; bits < 0x10000; ++bits) {
    double value = value_of<Format>(bits);
    if (std::isnan(value)) {
      EXPECT(encode<Format>(value, Rounding::nearest) == Format::not_a_number, "%x", bits);
    } else {
      EXPECT(encode<Format>(value, Rounding::nearest) == bits, "%x", bits);
    }
    unsigned int size = bits & 0x7fff;
    if (size + 1 < Format::infinity) expect_encoded<Format>((value + value_of<Format>(bits + 1)) / 2);
  }
  for (int i = 0; i < 100000; ++i) {
    double fraction = 1 + (next_random() >> 12) * 0x1p-52;
    int range = largest_exponent - smallest_exponent;
    double x = std::ldexp(fraction, smallest_exponent + static_cast<int>(next_random() % range));
    expect_encoded<Format>(next_random() % 2 == 0 ? x : -x);
  }
  EXPECT(encode<Format>(HUGE_VAL, Rounding::zero) == Format::infinity, "infinity stays");
  EXPECT(encode<Format>(1e300, Rounding::zero) == Format::infinity - 1, "towards zero stays finite");
  EXPECT(encode<Format>(-0.0, Rounding::nearest) == 0x8000, "the sign of zero stays");
}

// x * y + z of three halves fits in a 128-bit integer of units 2^-48, so the
// fused result can be found exactly.
void fused() {
  for (int i = 0; i < 200000; ++i) {
    double v[3];
    for (double& value : v) {
      unsigned int bits = static_cast<unsigned int>(next_random()) & 0xffff;
      if ((bits & 0x7c00) == 0x7c00) bits &= 0x8fff;
      value = value_of<HalfFormat>(bits);
    }
    __int128 exact = static_cast<__int128>(v[0] * v[1] * 0x1p48) + static_cast<__int128>(v[2] * 0x1p48);
    double odd = add_to_odd(v[0] * v[1], v[2]);
    // The double below the exact sum, and whether that was exact, decide what `odd` must be.
    double back = static_cast<double>(static_cast<__int128>(odd * 0x1p48));
    bool same = static_cast<__int128>(odd * 0x1p48) == exact && back == odd * 0x1p48;
    EXPECT(same || (bits_as<unsigned long long>(odd) & 1) != 0, "%a", odd);
    double apart = static_cast<double>(static_cast<__int128>(odd * 0x1p48) - exact);
    EXPECT(std::fabs(apart) <= std::fabs(odd) * 0x1p48 * 0x1p-52, "%a", odd);
  }
}

}  // namespace

int main() {
  format<HalfFormat>(-30, 20);
  format<Bfloat16Format>(-140, 130);
  fused();
  EXPECT(integer_to_odd(0x7fffffffffffffffll) == 0x1.fffffffffffffp62, "odd");
  EXPECT(integer_to_odd(-5) == -5.0 && integer_to_odd(0xffffffffffffffffull) < 0x1p64, "odd");
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
