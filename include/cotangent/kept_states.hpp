// States of a loop that is run again from checkpoints: what they consist of, and where they are kept. `cotangent/steps.hpp` decides
// when.
#pragma once

#include <cotangent/budget.hpp>
#include <cotangent/runtime.hpp>
#include <cotangent/tape_device.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace cotangent {

// Arrays and variables that a loop changes, and copies of them.
class KeptStates {
 public:
  KeptStates() = default;
  KeptStates(const KeptStates&) = delete;
  KeptStates& operator=(const KeptStates&) = delete;
  ~KeptStates() {
    for (const Copy& copy : kept_) release(copy);
    for (const Copy& copy : free_) release(copy);
    release(last_);
  }

  void add(const void* memory, std::size_t bytes, bool is_value) {
    if (memory == nullptr || bytes == 0) return;
    auto* where = static_cast<unsigned char*>(const_cast<void*>(memory));
    for (Part& part : parts_) {
      // Two pointers into one array.
      if (part.where != where) continue;
      part.bytes = std::max(part.bytes, bytes);
      return;
    }
    const bool on_host = is_value || is_on_host(memory);
    has_host_arrays_ |= on_host && !is_value;
    parts_.push_back({where, bytes, on_host});
  }

  // All parts are there. `others` is for how many states there must be room besides.
  void begin(const Budget& budget, bool has_streams, std::size_t others, bool may_use_disk) {
    has_streams_ = has_streams;
    for (const Part& part : parts_) (part.on_host ? host_bytes_ : device_bytes_) += aligned(part.bytes);
    is_checked_ = std::getenv("COTANGENT_CHECK_STEPS") != nullptr;
    const bool uses_disk = may_use_disk && budget.on_disk > 0 && budget.memory != Budget::kUnlimited;
    const std::size_t lanes = uses_disk ? open_lanes(budget) : 0;
    if (bytes() == 0 || budget.memory == Budget::kUnlimited) return;
    const std::size_t room = (budget.memory - lanes) / bytes();
    if (room <= others) {
      COTANGENT_FAIL("a budget of " + std::to_string(budget.memory) + " bytes is too small for the checkpoints of a loop: one is " +
                     std::to_string(bytes()) + " bytes, and " + std::to_string((others + 1) * bytes() + lanes) +
                     " bytes are needed");
    }
    slots_ = room - others;
    slots_on_disk_ = uses_disk ? budget.on_disk / bytes() : 0;
  }

  std::size_t bytes() const { return host_bytes_ + device_bytes_; }
  std::size_t slots() const { return slots_; }
  std::size_t slots_on_disk() const { return slots_on_disk_; }
  std::size_t in_memory() const { return in_memory_; }
  std::size_t on_disk() const { return marks_.size(); }
  bool is_checked() const { return is_checked_; }

  void keep(std::uint32_t level, std::size_t slot) {
    if (level == COTANGENT_LEVEL_DISK) return push();
    if (kept_.size() <= slot) kept_.resize(slot + 1);
    kept_[slot] = new_copy();
    copy(kept_[slot], true);
    StepsReport& report = steps_report();
    report.states_in_memory = std::max(report.states_in_memory, ++in_memory_);
  }
  void restore(std::uint32_t level, std::size_t slot) {
    if (level == COTANGENT_LEVEL_DISK) return read();
    if (slot >= kept_.size()) COTANGENT_FAIL("checkpoints: no state is kept there");
    copy(kept_[slot], false);
  }
  void drop(std::uint32_t level, std::size_t slot) {
    if (level == COTANGENT_LEVEL_DISK) return forget();
    if (slot >= kept_.size()) COTANGENT_FAIL("checkpoints: no state is kept there");
    free_.push_back(kept_[slot]);
    kept_[slot] = Copy();
    --in_memory_;
  }

  // The state that the loop leaves.
  void keep_last() {
    last_ = new_copy();
    copy(last_, true);
  }
  void restore_last() { copy(last_, false); }

  // Of all that the state is, as it is now.
  std::uint64_t checksum() const {
    COTANGENT_CHECK(cudaDeviceSynchronize());
    std::uint64_t sum = 14695981039346656037u;
    std::vector<unsigned char> values;
    for (const Part& part : parts_) {
      values.resize(part.bytes);
      if (part.on_host) {
        std::memcpy(values.data(), part.where, part.bytes);
      } else {
        COTANGENT_CHECK(cudaMemcpy(values.data(), part.where, part.bytes, cudaMemcpyDefault));
      }
      for (const unsigned char value : values) sum = (sum ^ value) * 1099511628211u;
    }
    return sum;
  }

 private:
  // An array, or a variable of the host.
  struct Part {
    unsigned char* where;
    std::size_t bytes;
    bool on_host;
  };
  // A state: what of it lies on the device, or in pinned memory where the device has none left, and what on the host.
  struct Copy {
    unsigned char* of_device = nullptr;
    unsigned char* of_host = nullptr;
    bool is_pinned = false;
  };
  // What the program's own stream of states on disk goes through.
  struct Lanes {
    Lanes(const cotangent_tape_options& options, std::size_t chunk)
        : tape(options), arrays(tape, 4 * chunk, chunk, 4 * chunk), values(tape) {}
    tape::Tape tape;
    tape::DeviceLane arrays;
    tape::Lane values;
  };
  struct Mark {
    cotangent_mark arrays;
    cotangent_mark values;
  };

  static std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  // Returns how much of the memory they take.
  std::size_t open_lanes(const Budget& budget) {
    constexpr std::size_t least = 64 << 10;
    std::size_t slab = least;
    while (slab < (std::size_t{2} << 20) && slab * 2 * 64 <= budget.memory) slab *= 2;
    cotangent_tape_options options = {};
    options.slab_bytes = slab;
    options.budget_bytes = 8 * slab;
    options.spill = budget.folder.c_str();
    const std::size_t all = 16 * slab;
    if (budget.memory < 2 * all) {
      COTANGENT_FAIL("a budget of " + std::to_string(budget.memory) + " bytes is too small to use a disk: it needs " +
                     std::to_string(2 * all));
    }
    lanes_ = std::make_unique<Lanes>(options, slab);
    return all;
  }

  Copy new_copy() {
    if (!free_.empty()) {
      const Copy copy = free_.back();
      free_.pop_back();
      return copy;
    }
    Copy copy;
    if (device_bytes_ > 0) {
      const cudaError_t error = cudaMallocAsync(&copy.of_device, device_bytes_, nullptr);
      copy.is_pinned = error == cudaErrorMemoryAllocation;
      if (copy.is_pinned) {
        // It is no failure.
        cudaGetLastError();
        COTANGENT_CHECK(cudaMallocHost(&copy.of_device, device_bytes_));
      } else {
        COTANGENT_CHECK(error);
      }
    }
    if (host_bytes_ > 0) copy.of_host = host_memory<unsigned char>(host_bytes_);
    return copy;
  }
  // In a destructor, which must not throw.
  static void release(const Copy& copy) {
    if (copy.of_device != nullptr) (void)(copy.is_pinned ? cudaFreeHost(copy.of_device) : cudaFreeAsync(copy.of_device, nullptr));
    std::free(copy.of_host);
  }

  // Other streams do not wait for the default one, and the host for none.
  void wait_before() const {
    if (has_streams_ || has_host_arrays_) COTANGENT_CHECK(cudaDeviceSynchronize());
  }
  void wait_after() const {
    if (has_streams_) COTANGENT_CHECK(cudaStreamSynchronize(nullptr));
  }

  void copy(const Copy& copy, bool is_kept) const {
    wait_before();
    std::size_t at_device = 0;
    std::size_t at_host = 0;
    for (const Part& part : parts_) {
      std::size_t& at = part.on_host ? at_host : at_device;
      unsigned char* kept = (part.on_host ? copy.of_host : copy.of_device) + at;
      unsigned char* const to = is_kept ? kept : part.where;
      unsigned char* const from = is_kept ? part.where : kept;
      at += aligned(part.bytes);
      if (part.on_host) {
        std::memcpy(to, from, part.bytes);
      } else {
        COTANGENT_CHECK(cudaMemcpyAsync(to, from, part.bytes, cudaMemcpyDefault, nullptr));
      }
    }
    wait_after();
  }

  void push() {
    wait_before();
    marks_.push_back({lanes_->arrays.mark(), cotangent_lane_mark(lanes_->values.get())});
    for (const Part& part : parts_) {
      if (part.on_host) {
        cotangent_lane_push(lanes_->values.get(), part.where, part.bytes);
      } else {
        lanes_->arrays.push(part.where, part.bytes);
      }
    }
    check_lanes();
    wait_after();
    StepsReport& report = steps_report();
    report.states_on_disk = std::max(report.states_on_disk, marks_.size());
  }
  void read() {
    wait_before();
    lanes_->arrays.hold();
    cotangent_lane_hold(lanes_->values.get());
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      if (part->on_host) {
        cotangent_lane_pop(lanes_->values.get(), part->where, part->bytes);
      } else {
        lanes_->arrays.pop(part->where, part->bytes);
      }
    }
    lanes_->arrays.release();
    cotangent_lane_release(lanes_->values.get());
    // What comes from a disk is looked at before it is used.
    lanes_->arrays.check();
    check_lanes();
    wait_after();
  }
  void forget() {
    if (marks_.empty()) COTANGENT_FAIL("checkpoints: no state is on disk");
    lanes_->arrays.rewind(marks_.back().arrays);
    cotangent_lane_rewind(lanes_->values.get(), marks_.back().values);
    marks_.pop_back();
  }
  void check_lanes() const { lanes_->values.check(); }

  std::vector<Part> parts_;
  std::size_t device_bytes_ = 0;
  std::size_t host_bytes_ = 0;
  bool has_streams_ = false;
  bool has_host_arrays_ = false;
  bool is_checked_ = false;
  std::size_t slots_ = ~std::size_t{0};
  std::size_t slots_on_disk_ = 0;
  // By slots.
  std::vector<Copy> kept_;
  std::size_t in_memory_ = 0;
  std::vector<Copy> free_;
  Copy last_;
  std::unique_ptr<Lanes> lanes_;
  // Of the states on disk, which are a stack.
  std::vector<Mark> marks_;
};

// Tells how far a loop has come: once a second on standard error with COTANGENT_PROGRESS=1, and to the budget's callback.
class StepsProgress {
 public:
  void begin(long count) {
    static const char* const stated = std::getenv("COTANGENT_PROGRESS");
    is_printed_ = stated != nullptr && *stated != '\0' && std::strcmp(stated, "0") != 0;
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
    std::fprintf(stderr, "cotangent: %s step %zu of %zu, %llu run, %.1f MiB in memory, %.1f MiB on disk, %.0f s",
                 progress.is_forward ? "forward, at" : "reverse, at", progress.step, progress.steps,
                 static_cast<unsigned long long>(progress.steps_run), progress.bytes_in_memory / 1048576.0,
                 progress.bytes_on_disk / 1048576.0, progress.seconds);
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
