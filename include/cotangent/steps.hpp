// Loops of host code whose steps are run again from checkpoints: what printed derivatives call. docs/checkpoints.md is the
// manual. C++17; the program is linked with the tape library.
#pragma once

#include <cotangent/budget.hpp>
#include <cotangent/kept_states.hpp>
#include <cotangent/runtime.hpp>
#include <cotangent/state_sums.hpp>
#include <cotangent/steps_progress.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace cotangent {

// The memory of the device that a pointer leads into, as it was allocated; none where the runtime does not know it.
struct Allocation {
  void* first = nullptr;
  std::size_t bytes = 0;
};
inline Allocation allocation_of(const void* pointer) {
  Allocation found;
#ifdef COTANGENT_CPU
  CotangentPointer known{};
  api->pointer(&known, pointer);
  if (known.kind != ~0u) found = {known.base, known.bytes};
#else
  // The driver knows it; the runtime, which the program is linked with, knows the driver.
  using Range = int (*)(unsigned long long*, std::size_t*, unsigned long long);
  static const Range range = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result;
#if CUDART_VERSION >= 12050
    COTANGENT_CHECK(cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 12000, cudaEnableDefault, &result));
#elif CUDART_VERSION >= 12000
    COTANGENT_CHECK(cudaGetDriverEntryPoint("cuMemGetAddressRange", &function, cudaEnableDefault, &result));
#else
    COTANGENT_CHECK(cudaGetDriverEntryPoint("cuMemGetAddressRange", &function, cudaEnableDefault));
#endif
    return reinterpret_cast<Range>(function);
  }();
  unsigned long long first = 0;
  if (!is_on_host(pointer) && range != nullptr &&
      range(&first, &found.bytes, reinterpret_cast<unsigned long long>(pointer)) == 0) {
    found.first = reinterpret_cast<void*>(first);
  }
#endif
  return found;
}

// A loop of a derivative, whose state is kept at some of its steps.
class Steps {
 public:
  Steps() = default;
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps() { cotangent_schedule_close(schedule_); }

  void keep(const void* memory, std::size_t bytes, bool is_value) { state_.add(memory, bytes, is_value); }
  void watch(const void* memory, std::size_t bytes) { state_.add_beyond(memory, bytes); }
  // What is kept is not known for certain: steps that are run again are compared with the first time.
  void doubt() { is_doubted_ = true; }

  // A negative count: the loop ends by a condition. Steps that are not exact may differ in their last bits when they are run again.
  void begin(long count, bool has_streams, bool is_last_kept, bool is_exact) {
    is_compared_ = is_exact && (is_doubted_ || is_on("COTANGENT_CHECK_STEPS"));
    is_last_kept_ = is_last_kept;
    is_counted_ = count >= 0;
    // One for the last state, and one for what a step keeps for its own reverse.
    state_.begin(current_budget(), has_streams, is_last_kept ? 2 : 1, is_counted_);
    cotangent_schedule_options options = {};
    options.kind = !is_counted_                  ? COTANGENT_SCHEDULE_ONLINE
                   : state_.slots_on_disk() == 0 ? COTANGENT_SCHEDULE_REVOLVE
                                                 : COTANGENT_SCHEDULE_TWO_LEVEL;
    // What follows the loop is the last step of the schedule: it is run once, and reversed first.
    options.steps = is_counted_ ? static_cast<std::uint64_t>(count) + 1 : 0;
    options.slots = state_.slots();
    options.disk_slots = state_.slots_on_disk();
    if (options.disk_slots > 0) options.costs.disk_write = options.costs.disk_read = current_budget().disk_cost;
    require(cotangent_schedule_open(&options, &schedule_));
    next();
    report() = StepsReport();
    report().state_bytes = state_.bytes();
    progress_.begin(count);
  }

  // The state is that of step `number`, which is run now.
  void begin_step(long number) {
    step_ = static_cast<std::size_t>(number);
    const bool is_new = step_ >= run_;
    recalled_ = 0;
    if (is_new) run_ = step_ + 1;
    ++report().steps_run;
    if (is_compared_) compare(is_new);
    if (action_.kind == COTANGENT_ACTION_ADVANCE && action_.to == step_) next();
    free_states();
    if (action_.kind == COTANGENT_ACTION_STORE) {
      if (action_.step != step_) disagree();
      state_.keep(action_.level, action_.slot);
      next();
    }
    progress_.tell(is_new, step_, run_, state_);
  }

  // What happens once is noted, and recalled when the step is run again.
  void note(const void* value, std::size_t bytes) {
    if (once_.size() <= step_) once_.resize(step_ + 1);
    const auto* first = static_cast<const unsigned char*>(value);
    once_[step_].insert(once_[step_].end(), first, first + bytes);
  }
  void recall(void* value, std::size_t bytes) {
    if (step_ >= once_.size() || recalled_ + bytes > once_[step_].size()) {
      COTANGENT_FAIL("checkpoints: a step of a loop that is run again takes another way than it took before");
    }
    std::memcpy(value, once_[step_].data() + recalled_, bytes);
    recalled_ += bytes;
  }

  // The loop has ended.
  void end() {
    if (!is_counted_) require(cotangent_schedule_ended(schedule_, run_));
    if (!is_counted_ || action_.kind == COTANGENT_ACTION_ADVANCE) next();
  }

  // Takes back a state from which step `number` can be reached, and says which that is.
  long restore(long number) {
    if (!is_reversing_) state_.keep_last(is_last_kept_);
    is_reversing_ = true;
    const auto wanted = static_cast<std::uint64_t>(number);
    if (action_.kind == COTANGENT_ACTION_REVERSE && action_.step == wanted + 1) next();
    free_states();
    if (action_.kind != COTANGENT_ACTION_RESTORE || action_.step > wanted) disagree();
    const std::uint64_t first = action_.step;
    state_.restore(action_.level, action_.slot);
    // The host waits for copies here, and nowhere before.
    is_last_restored_ = number == 0;
    if (is_last_restored_) state_.check();
    next();
    return static_cast<long>(first);
  }

  // All steps are reversed.
  void finish() {
    if (is_reversing_) state_.restore_last(is_last_kept_);
  }

 private:
  // A step that is run again must begin with the same bits.
  void compare(bool is_new) {
    state_.look([&](const std::vector<StatePart>& parts) { is_new ? sums_.keep(step_, parts) : sums_.compare(step_, parts); });
    if (is_last_restored_ && step_ == 0) sums_.check();
  }

  void free_states() {
    for (; action_.kind == COTANGENT_ACTION_FREE; next()) state_.drop(action_.level, action_.slot);
  }
  void next() { require(cotangent_schedule_next(schedule_, &action_)); }
  static void require(std::uint32_t status) {
    if (status != COTANGENT_TAPE_OK) COTANGENT_FAIL(std::string("checkpoints: ") + cotangent_tape_message(status));
  }
  static void disagree() { COTANGENT_FAIL("checkpoints: the loop runs otherwise than its schedule says"); }

  static StepsReport& report() { return steps_report(); }

  KeptStates state_;
  // Whether the caller looks at arrays of the state: then they are given back as the forward sweep left them.
  bool is_last_kept_ = false;
  bool is_reversing_ = false;
  // Whether it is known on entry how often the loop runs; and how often it ran.
  bool is_counted_ = false;
  std::size_t run_ = 0;
  cotangent_schedule* schedule_ = nullptr;
  cotangent_action action_ = {};
  // What happened once, by steps; and how much of it was recalled.
  std::vector<std::vector<unsigned char>> once_;
  std::size_t step_ = 0;
  std::size_t recalled_ = 0;
  bool is_doubted_ = false;
  bool is_compared_ = false;
  bool is_last_restored_ = false;
  StateSums sums_;
  StepsProgress progress_;
};

inline void keep_array(Steps& steps, const void* array, std::size_t bytes) { steps.keep(array, bytes, false); }
// Where an array of the caller begins and ends, in bytes; nothing for memory of the host that the runtime does not know. It is all of
// the allocation that it leads into; or, if other arrays of the caller lie there too, as with allocators that keep a pool, it ends where
// the next of them begins, at the latest: their adjoints must not be taken back with it.
struct Extent {
  const unsigned char* first = nullptr;
  const unsigned char* end = nullptr;
  bool is_shared = false;
};
template <class... Others>
Extent extent_of(const void* array, const Others*... others) {
  const Allocation found = allocation_of(array);
  const auto* first = static_cast<const unsigned char*>(found.first);
  const auto* own = static_cast<const unsigned char*>(array);
  Extent extent = {first, first + found.bytes, false};
  for (const void* other : {static_cast<const void*>(others)..., array}) {
    const auto* where = static_cast<const unsigned char*>(other);
    if (where == own || where < first || where >= extent.end) continue;
    extent.is_shared = true;
    extent.first = own;
    if (where > own) extent.end = where;
  }
  return extent;
}
template <class... Others>
void keep_allocation(Steps& steps, const void* array, const Others*... others) {
  if (array == nullptr) return;
  const Extent extent = extent_of(array, others...);
  if (extent.first == nullptr) {
    COTANGENT_FAIL(
        "checkpoints: the size of an array that a loop changes is not known, for it is memory of the host that CUDA's runtime "
        "did not allocate. State it in the loop, COTANGENT_CHECKPOINT(array, count), or allocate it with cudaMallocHost");
  }
  steps.keep(extent.first, static_cast<std::size_t>(extent.end - extent.first), false);
  if (extent.is_shared) steps.doubt();
}
// As many bytes as the loop's body states.
template <class... Others>
void keep_stated(Steps& steps, const void* array, std::size_t bytes, const Others*... others) {
  if (array == nullptr) return;
  steps.keep(array, bytes, false);
  steps.doubt();
  const Extent extent = extent_of(array, others...);
  const unsigned char* const end = static_cast<const unsigned char*>(array) + bytes;
  if (end < extent.end) steps.watch(end, static_cast<std::size_t>(extent.end - end));
}
template <class T>
void keep_value(Steps& steps, T* value) {
  steps.keep(value, sizeof(T), true);
}
inline void begin_steps(Steps& steps, long count, bool has_streams, bool is_last_kept, bool is_exact) {
  steps.begin(count, has_streams, is_last_kept, is_exact);
}
inline void begin_step(Steps& steps, long number) { steps.begin_step(number); }
template <class T>
void note(Steps& steps, T* value) {
  steps.note(value, sizeof(T));
}
template <class T>
void recall(Steps& steps, T* value) {
  steps.recall(value, sizeof(T));
}
inline void end_steps(Steps& steps) { steps.end(); }
inline long restore_step(Steps& steps, long number) { return steps.restore(number); }
inline void finish_steps(Steps& steps) { steps.finish(); }

}  // namespace cotangent
