// What checkpoints may take and have taken, for parsing: declarations of what include/cotangent/budget.hpp defines.
#pragma once

#include <cuda_runtime.h>

namespace cotangent {

struct Progress {
  bool is_forward;
  size_t step;
  size_t steps;
  unsigned long steps_run;
  size_t bytes_in_memory;
  size_t bytes_pinned;
  size_t bytes_on_disk;
  double seconds;
  double seconds_left;
};

struct StepsReport {
  unsigned long steps_run;
  size_t state_bytes;
  size_t states_in_memory;
  size_t states_pinned;
  size_t states_on_disk;
};
StepsReport& steps_report();

struct Budget {
  template <class Watch>
  Budget watched(Watch watch) const;
  template <class Bytes>
  Budget pinned(const Bytes& bytes) const;
  Budget compressed() const;
  template <class Folder, class Bytes>
  Budget disk(const Folder& into, const Bytes& bytes, double cost = 1) const;
};
template <class Bytes>
Budget budget(const Bytes& memory);
Budget& current_budget();

class Within {
 public:
  explicit Within(const Budget& budget);
  ~Within();
};

}  // namespace cotangent
