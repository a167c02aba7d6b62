// What programs of the tests say: the bits of their results, and how often their loop was run.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

inline std::vector<float> waves(int n) {
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = 0.5f + 0.25f * std::sin(6.2831853f * i / n) + 0.01f * (i % 7);
  return values;
}

inline void say(const std::vector<const std::vector<float>*>& results, float last) {
  std::uint64_t sum = 14695981039346656037u;
  const auto add = [&](float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    sum = (sum ^ bits) * 1099511628211u;
  };
  bool is_finite = true;
  for (const auto* values : results) {
    for (float value : *values) {
      add(value);
      is_finite = is_finite && std::isfinite(value);
    }
  }
  add(last);
  std::printf("bits %016llx%s\n", static_cast<unsigned long long>(sum), is_finite ? "" : " with numbers that are none");
#ifdef WITH_STEPS
  const cotangent::StepsReport& report = cotangent::steps_report();
  std::printf("run %llu, a state of %zu bytes, at most %zu in memory, %zu pinned and %zu on disk\n",
              static_cast<unsigned long long>(report.steps_run), report.state_bytes, report.states_in_memory,
              report.states_pinned, report.states_on_disk);
#endif
}
