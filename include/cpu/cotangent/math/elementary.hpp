// Elementary functions that the C library lacks, in double precision:
// trigonometry in half turns, reciprocal roots and Euclidean norms.
#pragma once

#include <math.h>

namespace cotangent {
namespace math {

constexpr double pi_high = 3.1415926535897931;
constexpr double pi_low = 1.2246467991473532e-16;

// sin and cos of pi times x for |x| <= 1/4.
inline double sin_of_part(double x) {
  double angle = pi_high * x;
  double rest = fma(pi_high, x, -angle) + pi_low * x;
  return sin(angle) + rest * cos(angle);
}
inline double cos_of_part(double x) {
  double angle = pi_high * x;
  double rest = fma(pi_high, x, -angle) + pi_low * x;
  return cos(angle) - rest * sin(angle);
}

// x as a quarter turn, 0 to 3, and a rest of at most 1/4; both exact. `x` is
// counted in half turns and is finite.
struct QuarterTurn {
  int quarter;
  double rest;
};
inline QuarterTurn quarter_turn(double x) {
  double within_turn = x - 2 * rint(0.5 * x);
  double quarters = rint(2 * within_turn);
  return {static_cast<int>(quarters) & 3, within_turn - 0.5 * quarters};
}

inline double sinpi(double x) {
  if (!isfinite(x)) return nan("");
  if (x == rint(x)) return copysign(0.0, x);
  QuarterTurn turn = quarter_turn(x);
  switch (turn.quarter) {
    case 0: return sin_of_part(turn.rest);
    case 1: return cos_of_part(turn.rest);
    case 2: return -sin_of_part(turn.rest);
    default: return -cos_of_part(turn.rest);
  }
}

inline double cospi(double x) {
  if (!isfinite(x)) return nan("");
  QuarterTurn turn = quarter_turn(x);
  if (turn.rest == 0 && (turn.quarter & 1) != 0) return 0.0;
  switch (turn.quarter) {
    case 0: return cos_of_part(turn.rest);
    case 1: return -sin_of_part(turn.rest);
    case 2: return -cos_of_part(turn.rest);
    default: return sin_of_part(turn.rest);
  }
}

inline double rsqrt(double x) { return 1 / sqrt(x); }
inline double rcbrt(double x) { return 1 / cbrt(x); }

// The largest of a set of numbers, as a power of two to divide by before
// squaring; 1 if nothing has to be scaled.
inline double scale_of(double largest) {
  if (largest == 0 || !isfinite(largest)) return 1;
  return ldexp(1.0, ilogb(largest));
}

// The Euclidean norm as a value between 1 and a few times the root of the
// count, and a power of two. Kept apart because the norm may overflow where
// its reciprocal does not.
struct ScaledNorm {
  double value;
  double scale;
};
inline ScaledNorm scaled_norm(int count, const double* values) {
  double largest = 0;
  bool has_nan = false;
  for (int i = 0; i < count; ++i) {
    if (isinf(values[i])) return {HUGE_VAL, 1};
    has_nan |= isnan(values[i]);
    largest = fmax(largest, fabs(values[i]));
  }
  if (has_nan) return {nan(""), 1};
  double scale = scale_of(largest);
  double sum = 0;
  double rest = 0;
  for (int i = 0; i < count; ++i) {
    double part = values[i] / scale;
    double square = part * part;
    double total = sum + square;
    rest += fma(part, part, -square) + (square - (total - sum));
    sum = total;
  }
  return {sqrt(sum + rest), scale};
}

inline double norm(int count, const double* values) {
  ScaledNorm norm = scaled_norm(count, values);
  return norm.value * norm.scale;
}
inline double rnorm(int count, const double* values) {
  ScaledNorm norm = scaled_norm(count, values);
  return 1 / norm.value / norm.scale;
}

inline double rhypot(double x, double y) {
  const double values[] = {x, y};
  return rnorm(2, values);
}
inline double norm3d(double a, double b, double c) {
  const double values[] = {a, b, c};
  return norm(3, values);
}
inline double rnorm3d(double a, double b, double c) {
  const double values[] = {a, b, c};
  return rnorm(3, values);
}
inline double norm4d(double a, double b, double c, double d) {
  const double values[] = {a, b, c, d};
  return norm(4, values);
}
inline double rnorm4d(double a, double b, double c, double d) {
  const double values[] = {a, b, c, d};
  return rnorm(4, values);
}

}  // namespace math
}  // namespace cotangent
