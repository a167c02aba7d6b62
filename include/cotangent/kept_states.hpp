// States of a loop that is run again from checkpoints: what they consist of, and where they are kept. `cotangent/steps.hpp` decides
// when.
#pragma once

#include <cotangent/budget.hpp>
#include <cotangent/runtime.hpp>
#include <cotangent/state_sums.hpp>
#include <cotangent/tape_device.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace cotangent {

// States that go over the bus: the last one in is the first one out. Arrays pass through chunks on the device, so that the program's
// stream does not wait for the bus; they stay in pinned memory, or go on to disk.
class StateStack {
 public:
  // Chunks of `chunk` bytes: four on the device, `pinned_chunks` in pinned memory.
  StateStack(const cotangent_tape_options& options, std::size_t chunk, std::size_t pinned_chunks)
      : tape_(options), arrays_(tape_, pinned_chunks * chunk, chunk, kOnDevice * chunk), values_(tape_) {}

  static constexpr std::size_t kOnDevice = 4;

  std::size_t states() const { return marks_.size(); }

  void push(const std::vector<StatePart>& parts) {
    marks_.push_back({arrays_.mark(), cotangent_lane_mark(values_.get())});
    for (const StatePart& part : parts) {
      if (part.on_host) {
        cotangent_lane_push(values_.get(), part.where, part.bytes);
      } else {
        arrays_.push(part.where, part.bytes);
      }
    }
    values_.check();
    // All chunks are asked for with the first array; whether they could be had is known here.
    if (!is_open_) check();
    is_open_ = true;
  }
  // The newest, which stays.
  void read(const std::vector<StatePart>& parts) {
    arrays_.hold();
    cotangent_lane_hold(values_.get());
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      if (part->on_host) {
        cotangent_lane_pop(values_.get(), part->where, part->bytes);
      } else {
        arrays_.pop(part->where, part->bytes);
      }
    }
    arrays_.release();
    cotangent_lane_release(values_.get());
    values_.check();
  }
  // Waits for all copies, and throws the first error.
  void check() const { arrays_.check(); }
  void forget() {
    if (marks_.empty()) COTANGENT_FAIL("checkpoints: no state is kept there");
    arrays_.rewind(marks_.back().arrays);
    cotangent_lane_rewind(values_.get(), marks_.back().values);
    marks_.pop_back();
  }

 private:
  struct Mark {
    cotangent_mark arrays;
    cotangent_mark values;
  };

  tape::Tape tape_;
  tape::DeviceLane arrays_;
  tape::Lane values_;
  std::vector<Mark> marks_;
  bool is_open_ = false;
};

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
    for (StatePart& part : parts_) {
      // Two pointers into one array.
      if (part.where != where) continue;
      part.bytes = std::max(part.bytes, bytes);
      return;
    }
    const bool on_host = is_value || is_on_host(memory);
    has_host_arrays_ |= on_host && !is_value;
    is_seen_by_host_ |= !is_value && memory_type(memory) == cudaMemoryTypeManaged;
    parts_.push_back({where, bytes, on_host, is_value});
  }

  // Memory right after an array of which only a part is kept: the loop should not change it.
  void add_beyond(const void* memory, std::size_t bytes) {
    if (bytes > 0) beyond_.push_back({static_cast<unsigned char*>(const_cast<void*>(memory)), bytes, is_on_host(memory), false});
  }

  // All parts are there. `others` is for how many states there must be room besides.
  void begin(const Budget& budget, bool has_streams, std::size_t others, bool is_stack) {
    has_streams_ = has_streams;
    for (const StatePart& part : parts_) (part.on_host ? host_bytes_ : device_bytes_) += aligned(part.bytes);
    slots_ = budget.states > 0 ? budget.states : slots_;
    if (bytes() == 0 || budget.memory == Budget::kUnlimited) return;
    // Only schedules of a known number of steps keep states as a stack.
    const std::size_t stacks = is_stack ? open_pinned(budget) + open_disk(budget) : 0;
    const std::size_t room = (budget.memory - stacks) / bytes();
    if (room + slots_pinned_ <= others || room < others) {
      COTANGENT_FAIL("a budget of " + std::to_string(budget.memory) + " bytes is too small for the checkpoints of a loop: one is " +
                     std::to_string(bytes()) + " bytes, and " + std::to_string((others + 1) * bytes() + stacks) +
                     " bytes are needed");
    }
    slots_ = room - others + slots_pinned_;
  }

  std::size_t bytes() const { return host_bytes_ + device_bytes_; }
  std::size_t slots() const { return slots_; }
  std::size_t slots_on_disk() const { return slots_on_disk_; }
  std::size_t in_memory() const { return in_memory_; }
  std::size_t in_pinned() const { return pinned_ != nullptr ? pinned_->states() : 0; }
  std::size_t on_disk() const { return disk_ != nullptr ? disk_->states() : 0; }

  void keep(std::uint32_t level, std::size_t slot) {
    StepsReport& report = steps_report();
    if (StateStack* const stack = stack_of(level, slot)) {
      wait_before();
      stack->push(parts_);
      wait_after();
      report.states_pinned = std::max(report.states_pinned, in_pinned());
      report.states_on_disk = std::max(report.states_on_disk, on_disk());
      return;
    }
    if (kept_.size() <= slot) kept_.resize(slot + 1);
    kept_[slot] = new_copy();
    copy(kept_[slot], true);
    report.states_in_memory = std::max(report.states_in_memory, ++in_memory_);
  }
  void restore(std::uint32_t level, std::size_t slot) {
    if (StateStack* const stack = stack_of(level, slot)) {
      wait_before();
      stack->read(parts_);
      // What comes from a disk is looked at before it is used.
      if (stack == disk_.get()) stack->check();
      wait_after();
      return;
    }
    if (slot >= kept_.size()) COTANGENT_FAIL("checkpoints: no state is kept there");
    copy(kept_[slot], false);
  }
  void drop(std::uint32_t level, std::size_t slot) {
    if (StateStack* const stack = stack_of(level, slot)) return stack->forget();
    if (slot >= kept_.size()) COTANGENT_FAIL("checkpoints: no state is kept there");
    free_.push_back(kept_[slot]);
    kept_[slot] = Copy();
    --in_memory_;
  }
  // After the last one was taken back: all were what they should have been, or this throws.
  void check() const {
    if (pinned_ != nullptr) pinned_->check();
  }

  // What the forward sweep has left, of the caller's arrays too or only of the host's variables.
  void keep_last(bool has_arrays) {
    for (const StatePart& part : parts_) {
      if (part.is_value) values_.insert(values_.end(), part.where, part.where + part.bytes);
    }
    if (!has_arrays) return;
    last_ = new_copy();
    copy(last_, true);
    if (!beyond_.empty()) sum_beyond_ = StateSums::of(beyond_);
  }
  void restore_last(bool has_arrays) {
    if (has_arrays) copy(last_, false);
    const unsigned char* from = values_.data();
    for (const StatePart& part : parts_) {
      if (!part.is_value) continue;
      std::memcpy(part.where, from, part.bytes);
      from += part.bytes;
    }
    if (!has_arrays || beyond_.empty() || StateSums::of(beyond_) == sum_beyond_) return;
    COTANGENT_FAIL("checkpoints: a loop changes elements of an array beyond those that its COTANGENT_CHECKPOINT states");
  }

  // Looks at what the state is made of, when all that changes it is done, and before it is changed again.
  template <class Look>
  void look(Look look) const {
    wait_before();
    look(parts_);
    wait_after();
  }

 private:
  // A state: what of it lies on the device, or in pinned memory where the device has none left, and what on the host.
  struct Copy {
    unsigned char* of_device = nullptr;
    unsigned char* of_host = nullptr;
    bool is_pinned = false;
  };
  static std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

  // Of the chunks that pieces of arrays pass through.
  static std::size_t chunk_for(const Budget& budget) {
    std::size_t chunk = 64 << 10;
    while (chunk < (std::size_t{2} << 20) && chunk * 2 * 64 <= budget.memory) chunk *= 2;
    return chunk;
  }

  // Opens the stack in pinned memory, if there is to be one; returns how much of the other memory it takes.
  std::size_t open_pinned(const Budget& budget) {
    const std::size_t chunk = chunk_for(budget);
    const std::size_t all = budget.in_pinned / chunk;
    std::size_t of_state = 0;
    for (const StatePart& part : parts_) of_state += part.on_host ? 0 : (part.bytes + chunk - 1) / chunk;
    // Two chunks are on their way.
    if (of_state == 0 || all < of_state + 2) return 0;
    slots_pinned_ = (all - 2) / of_state;
    cotangent_tape_options options = {};
    options.slab_bytes = 64 << 10;
    require_room(budget, 2 * StateStack::kOnDevice * chunk, "pinned memory");
    pinned_ = std::make_unique<StateStack>(options, chunk, all);
    return StateStack::kOnDevice * chunk;
  }

  // The same with the one on disk.
  std::size_t open_disk(const Budget& budget) {
    if (budget.on_disk == 0) return 0;
    const std::size_t chunk = chunk_for(budget);
    cotangent_tape_options options = {};
    options.slab_bytes = chunk;
    // Compression takes a buffer, as large as a chunk and a MiB at most.
    options.budget_bytes = 8 * chunk + (budget.is_compressed ? chunk + (std::size_t{1} << 20) : 0);
    options.spill = budget.folder.c_str();
    options.compress = budget.is_compressed;
    const std::size_t all = options.budget_bytes + 2 * StateStack::kOnDevice * chunk;
    require_room(budget, 2 * all, "a disk");
    disk_ = std::make_unique<StateStack>(options, chunk, StateStack::kOnDevice);
    slots_on_disk_ = budget.on_disk / bytes();
    return all;
  }

  static void require_room(const Budget& budget, std::size_t least, const char* what) {
    if (budget.memory >= least) return;
    COTANGENT_FAIL("a budget of " + std::to_string(budget.memory) + " bytes is too small to use " + what + ": it needs " +
                   std::to_string(least));
  }

  // Where a state is, if it is on a stack. The lowest slots, whose states are wanted last, are those in pinned memory.
  StateStack* stack_of(std::uint32_t level, std::size_t slot) const {
    if (level == COTANGENT_LEVEL_DISK) return disk_.get();
    return slot < slots_pinned_ ? pinned_.get() : nullptr;
  }

  Copy new_copy() {
    if (!free_.empty()) {
      const Copy copy = free_.back();
      free_.pop_back();
      return copy;
    }
    Copy copy;
    if (device_bytes_ > 0) {
      // The device needs room for what a step records as well, and for what the loop leaves.
      std::size_t left = 0, total = 0;
      COTANGENT_CHECK(cudaMemGetInfo(&left, &total));
      copy.is_pinned = left / 4 < device_bytes_;
      if (!copy.is_pinned) {
        const cudaError_t error = cudaMallocAsync(&copy.of_device, device_bytes_, nullptr);
        copy.is_pinned = error == cudaErrorMemoryAllocation;
        // It is no failure.
        if (copy.is_pinned) cudaGetLastError();
        else COTANGENT_CHECK(error);
      }
      if (copy.is_pinned) COTANGENT_CHECK(cudaMallocHost(&copy.of_device, device_bytes_));
    }
    if (host_bytes_ > 0) copy.of_host = host_memory<unsigned char>(host_bytes_);
    return copy;
  }
  // In a destructor, which must not throw.
  static void release(const Copy& copy) {
    if (copy.of_device != nullptr) (void)(copy.is_pinned ? cudaFreeHost(copy.of_device) : cudaFreeAsync(copy.of_device, nullptr));
    std::free(copy.of_host);
  }

  // Other streams do not wait for the default one, and the host for none: neither before it takes a copy of its own, nor before it
  // changes managed memory.
  void wait_before() const {
    if (has_streams_ || has_host_arrays_) COTANGENT_CHECK(cudaDeviceSynchronize());
  }
  void wait_after() const {
    if (has_streams_ || is_seen_by_host_) COTANGENT_CHECK(cudaStreamSynchronize(nullptr));
  }

  void copy(const Copy& copy, bool is_kept) const {
    wait_before();
    std::size_t at_device = 0;
    std::size_t at_host = 0;
    for (const StatePart& part : parts_) {
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

  std::vector<StatePart> parts_;
  std::vector<StatePart> beyond_;
  unsigned long long sum_beyond_ = 0;
  std::size_t device_bytes_ = 0;
  std::size_t host_bytes_ = 0;
  bool has_streams_ = false;
  bool has_host_arrays_ = false;
  bool is_seen_by_host_ = false;
  std::size_t slots_ = ~std::size_t{0};
  std::size_t slots_pinned_ = 0;
  std::size_t slots_on_disk_ = 0;
  // By slots.
  std::vector<Copy> kept_;
  std::size_t in_memory_ = 0;
  std::vector<Copy> free_;
  Copy last_;
  // The host's variables as the forward sweep left them.
  std::vector<unsigned char> values_;
  std::unique_ptr<StateStack> pinned_;
  std::unique_ptr<StateStack> disk_;
};

}  // namespace cotangent
