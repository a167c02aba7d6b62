// Counts the expectations that a test program of the headers does not meet.
#pragma once

#include <cstdio>
#include <cstdlib>

inline int failures = 0;

// Reports the first few of what fails, so that a mistake does not drown itself.
#define EXPECT(condition, ...)                                       \
  do {                                                               \
    if (!(condition) && ++failures <= 20) {                          \
      std::printf("line %d: %s: ", __LINE__, #condition);            \
      std::printf(__VA_ARGS__);                                      \
      std::printf("\n");                                             \
    }                                                                \
  } while (false)

// A repeatable stream of random bits (xorshift).
inline unsigned long long next_random() {
  static unsigned long long state = 0x9e3779b97f4a7c15ull;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}
