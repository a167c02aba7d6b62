// How far a loop has come that is run again from checkpoints: on standard error, and to the program's callback.
#pragma once

#include <cotangent/kept_states.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>

namespace cotangent {

// Tells how far a loop has come: once a second on standard error with COTANGENT_PROGRESS=1, and to the budget's callback.
class StepsProgress {
 public:
  void begin(long count) {
    is_printed_ = is_on("COTANGENT_PROGRESS");
    callback_ = current_budget().progress;
    count_ = count;
    told_ = began_ = Clock::now();
  }

  void tell(bool is_forward, std::size_t step, std::size_t run, const KeptStates& states) {
    if (!is_printed_ && !callback_) return;
    const Clock::time_point now = Clock::now();
    if (is_forward && step + 1 == run) reverse_began_ = now;
    if (now - told_ < std::chrono::seconds(1)) return;
    told_ = now;
    Progress progress;
    progress.is_forward = is_forward;
    progress.step = step;
    progress.steps = count_ >= 0 ? static_cast<std::size_t>(count_) : run;
    progress.steps_run = steps_report().steps_run;
    progress.bytes_in_memory = states.in_memory() * states.bytes();
    progress.bytes_pinned = states.in_pinned() * states.bytes();
    progress.bytes_on_disk = states.on_disk() * states.bytes();
    progress.seconds = std::chrono::duration<double>(now - began_).count();
    const double since = std::chrono::duration<double>(now - reverse_began_).count();
    const std::size_t reversed = run - std::min(run, step + 1);
    progress.seconds_left = is_forward || reversed == 0 ? -1.0 : since / reversed * (step + 1);
    if (is_printed_) print(progress);
    if (callback_ && !callback_(progress)) COTANGENT_FAIL("checkpoints: the program's progress callback has stopped the gradient");
  }

 private:
  using Clock = std::chrono::steady_clock;

  static void print(const Progress& progress) {
    constexpr double mebibyte = 1048576.0;
    std::fprintf(stderr, "cotangent: %s step %zu of %zu, %llu run, %.1f MiB in memory, %.1f MiB pinned, %.1f MiB on disk, %.0f s",
                 progress.is_forward ? "forward, at" : "reverse, at", progress.step, progress.steps,
                 static_cast<unsigned long long>(progress.steps_run), progress.bytes_in_memory / mebibyte,
                 progress.bytes_pinned / mebibyte, progress.bytes_on_disk / mebibyte, progress.seconds);
    if (progress.seconds_left >= 0) std::fprintf(stderr, ", about %.0f s left", progress.seconds_left);
    std::fputc('\n', stderr);
  }

  bool is_printed_ = false;
  std::function<bool(const Progress&)> callback_;
  long count_ = -1;
  Clock::time_point began_;
  Clock::time_point reverse_began_;
  Clock::time_point told_;
};

}  // namespace cotangent
