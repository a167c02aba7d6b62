// min and max as CUDA overloads them. A pair of a signed and an unsigned
// integer compares as unsigned; floating-point forms return the other operand
// if one is not a number.
#pragma once

#include <math.h>

#define COTANGENT_MIN_MAX(type, first, second)                       \
  inline type min(first x, second y) {                               \
    type a = static_cast<type>(x), b = static_cast<type>(y);         \
    return b < a ? b : a;                                            \
  }                                                                  \
  inline type max(first x, second y) {                               \
    type a = static_cast<type>(x), b = static_cast<type>(y);         \
    return a < b ? b : a;                                            \
  }

#define COTANGENT_INTEGER_MIN_MAX(type)                          \
  COTANGENT_MIN_MAX(type, type, type)                            \
  COTANGENT_MIN_MAX(unsigned type, unsigned type, unsigned type) \
  COTANGENT_MIN_MAX(unsigned type, type, unsigned type)          \
  COTANGENT_MIN_MAX(unsigned type, unsigned type, type)

COTANGENT_INTEGER_MIN_MAX(int)
COTANGENT_INTEGER_MIN_MAX(long)
COTANGENT_INTEGER_MIN_MAX(long long)

#undef COTANGENT_MIN_MAX
#undef COTANGENT_INTEGER_MIN_MAX

inline float min(float x, float y) { return fminf(x, y); }
inline float max(float x, float y) { return fmaxf(x, y); }
inline double min(double x, double y) { return fmin(x, y); }
inline double max(double x, double y) { return fmax(x, y); }
inline double min(float x, double y) { return fmin(static_cast<double>(x), y); }
inline double max(float x, double y) { return fmax(static_cast<double>(x), y); }
inline double min(double x, float y) { return fmin(x, static_cast<double>(y)); }
inline double max(double x, float y) { return fmax(x, static_cast<double>(y)); }

inline unsigned int umin(unsigned int x, unsigned int y) { return min(x, y); }
inline unsigned int umax(unsigned int x, unsigned int y) { return max(x, y); }
inline long long llmin(long long x, long long y) { return min(x, y); }
inline long long llmax(long long x, long long y) { return max(x, y); }
inline unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
inline unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }
