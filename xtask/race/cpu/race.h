// The race on the CPU. Gradients of one work take turns in one process on one core; each is compared with the one by
// hand, and that with differences. A work is a struct `Work` (works/*.h) that owns the data; a contestant is an `Entry`
// in a file of its own, so that nothing is inlined across contestants. What is measured is printed as lines of words
// separated by tabs, which `cargo xtask race` reads.
#pragma once

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

struct Numbers {
  double* data;
  size_t count;
};

// An input and its gradient. One input number may have many gradients, one for each use, whose sum counts.
struct Input {
  Numbers values, gradient;
};

// Whether the caller uses what the function returns. Where it does not, the compiler may drop what computes it.
enum class Value { Dropped, Returned };

// What arrays that the function overwrites hold after the gradient.
enum class State { Kept, RolledBack, Unspecified };

struct Work;

struct Entry {
  const char* name;
  Value value;
  State state;
  void (*run)(Work&);

  static std::vector<Entry>& all() {
    static std::vector<Entry> entries;
    return entries;
  }
};

struct Registered {
  explicit Registered(Entry entry) { Entry::all().push_back(entry); }
};

// Always the same numbers, between 0 and 1.
inline double random_number() {
  static unsigned long long state = 88172645463325252ULL;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (state >> 11) * (1.0 / 9007199254740992.0);
}

inline std::vector<double> random_numbers(size_t count, double least, double most) {
  std::vector<double> numbers(count);
  for (double& number : numbers) number = least + (most - least) * random_number();
  return numbers;
}

inline Numbers all_of(std::vector<double>& numbers) { return {numbers.data(), numbers.size()}; }

inline void clear(std::vector<double>& numbers) { memset(numbers.data(), 0, numbers.size() * sizeof(double)); }

// The largest difference, against the largest number; NaN counts as infinite.
inline double difference(const std::vector<double>& expected, const std::vector<double>& found) {
  double largest = 1e-300, worst = 0;
  for (double number : expected) largest = fmax(largest, fabs(number));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = fabs(expected[i] - found[i]);
    worst = error <= largest * 1e300 ? fmax(worst, error / largest) : HUGE_VAL;
  }
  return worst;
}

inline std::vector<double> copied(const std::vector<Numbers>& parts) {
  std::vector<double> all;
  for (const Numbers& part : parts) all.insert(all.end(), part.data, part.data + part.count);
  return all;
}

// Processor time of this thread.
inline double seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec + 1e-9 * now.tv_nsec;
}

inline double timed(Work& work, const Entry& entry) {
  const double start = seconds();
  entry.run(work);
  // Whatever the gradient has stored is seen by somebody.
  asm volatile("" ::"g"(&work) : "memory");
  return seconds() - start;
}
