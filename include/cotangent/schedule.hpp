// Checkpoint schedules, for C++17: which states of a loop to keep, and from which to compute again. docs/tape.md is the manual.
//
//   struct Loop {                                            what there is one state in hand of
//     void store(cotangent_level level, std::size_t slot);   keeps a copy of it
//     void restore(cotangent_level level, std::size_t slot); takes a copy of what was kept
//     void advance(std::uint64_t from, std::uint64_t to);    runs steps `from` to `to - 1`
//     void reverse(std::uint64_t step);                      runs one step with what its reverse needs, and reverses it
//   };
//   cotangent::tape::Counts counts = cotangent::tape::run(cotangent::tape::Schedule::revolve(steps, slots), loop);
//
// or, by hand, `for (const cotangent_action& action : schedule) switch (action.kind) { ... }`.
#pragma once

#include <cotangent/tape.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

namespace cotangent {
namespace tape {

// Gives one action after the other, once.
class Schedule {
 public:
  // A loop of so many steps, with room for so many states: the fewest steps there can be.
  static Schedule revolve(std::uint64_t steps, std::size_t slots) {
    return Schedule(options(COTANGENT_SCHEDULE_REVOLVE, steps, slots));
  }

  // A loop of unknown length: `advance` says when it has ended.
  static Schedule online(std::size_t slots) { return Schedule(options(COTANGENT_SCHEDULE_ONLINE, 0, slots)); }
  // As `revolve`, but a slot keeps either a state or the record of a step: for a state with `store_record(step, level, slot)` and
  // `reverse_record(step, level, slot)`.
  static Schedule mixed(std::uint64_t steps, std::size_t slots) {
    return Schedule(options(COTANGENT_SCHEDULE_MIXED, steps, slots));
  }
  // Slots in memory and on disk, and what it costs to use them: the least time there can be.
  static Schedule two_level(std::uint64_t steps, std::size_t memory, std::size_t disk, const cotangent_costs& costs) {
    cotangent_schedule_options all = options(COTANGENT_SCHEDULE_TWO_LEVEL, steps, memory);
    all.disk_slots = disk;
    all.costs = costs;
    return Schedule(all);
  }

  explicit Schedule(const cotangent_schedule_options& options) { check(cotangent_schedule_open(&options, &schedule_)); }
  ~Schedule() { cotangent_schedule_close(schedule_); }
  Schedule(Schedule&& other) noexcept : schedule_(std::exchange(other.schedule_, nullptr)) {}
  Schedule& operator=(Schedule&& other) noexcept {
    std::swap(schedule_, other.schedule_);
    return *this;
  }

  // END when all steps are reversed.
  cotangent_action next() {
    cotangent_action action;
    check(cotangent_schedule_next(schedule_, &action));
    return action;
  }
  // The loop has so many steps; see cotangent_schedule_ended.
  void ended(std::uint64_t steps) { check(cotangent_schedule_ended(schedule_, steps)); }
  std::size_t slots(cotangent_level level) const { return cotangent_schedule_slots(schedule_, level); }

  // The actions that are left, without END.
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = cotangent_action;
    using difference_type = std::ptrdiff_t;
    using pointer = const cotangent_action*;
    using reference = const cotangent_action&;

    explicit Iterator(Schedule* schedule) : schedule_(schedule) {
      if (schedule_ != nullptr) action_ = schedule_->next();
    }
    reference operator*() const { return action_; }
    pointer operator->() const { return &action_; }
    Iterator& operator++() {
      action_ = schedule_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    // All ends are alike, and nothing else is compared.
    friend bool operator==(const Iterator& left, const Iterator& right) {
      return left.action_.kind == COTANGENT_ACTION_END && right.action_.kind == COTANGENT_ACTION_END;
    }
    friend bool operator!=(const Iterator& left, const Iterator& right) { return !(left == right); }

   private:
    Schedule* schedule_;
    cotangent_action action_ = {};
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(nullptr); }

 private:
  static cotangent_schedule_options options(cotangent_schedule_kind kind, std::uint64_t steps, std::size_t slots) {
    cotangent_schedule_options options = {};
    options.kind = kind;
    options.steps = steps;
    options.slots = slots;
    return options;
  }
  static void check(std::uint32_t status) {
    if (status != COTANGENT_TAPE_OK) throw Error(status);
  }

  cotangent_schedule* schedule_ = nullptr;
};

// How often a level was used.
struct Transfers {
  std::uint64_t writes = 0;
  std::uint64_t reads = 0;
};

// What running a schedule took.
struct Counts {
  std::uint64_t advanced = 0;  // steps that were run and nothing else
  std::uint64_t recorded = 0;  // steps that were run with what their reverse needs: each step, once
  Transfers memory;
  Transfers disk;

  std::uint64_t steps() const { return advanced + recorded; }
  Transfers& of(cotangent_level level) { return level == COTANGENT_LEVEL_DISK ? disk : memory; }
};

// Whether a state has a function that it need not have.
template <class State, class = void>
inline constexpr bool has_free = false;
template <class State>
inline constexpr bool
    has_free<State, std::void_t<decltype(std::declval<State&>().free(cotangent_level(), std::size_t()))>> = true;
template <class State, class = void>
inline constexpr bool has_records = false;
template <class State>
inline constexpr bool has_records<
    State, std::void_t<decltype(std::declval<State&>().store_record(std::uint64_t(), cotangent_level(), std::size_t())),
                       decltype(std::declval<State&>().reverse_record(std::uint64_t(), cotangent_level(), std::size_t()))>> =
    true;

// The number of steps that the loop has if it has ended. An `advance` that gives nothing never finds that.
template <class State>
std::optional<std::uint64_t> advance(State& state, std::uint64_t from, std::uint64_t to) {
  if constexpr (std::is_void_v<decltype(state.advance(from, to))>) {
    state.advance(from, to);
    return std::nullopt;
  } else {
    return state.advance(from, to);
  }
}

// Reverses all steps of a loop. Besides the four functions above, a state may have `free(level, slot)`; `advance` may give
// `std::optional<std::uint64_t>`: if it finds after a step, or before the first, that the loop has ended, the number of steps
// that the loop has, which only schedules for loops of unknown length allow.
template <class State>
Counts run(Schedule& schedule, State&& state) {
  Counts counts;
  for (const cotangent_action& action : schedule) {
    const auto level = static_cast<cotangent_level>(action.level);
    switch (static_cast<cotangent_action_kind>(action.kind)) {
      case COTANGENT_ACTION_END:
        break;
      case COTANGENT_ACTION_STORE:
        state.store(level, action.slot);
        ++counts.of(level).writes;
        break;
      case COTANGENT_ACTION_RESTORE:
        state.restore(level, action.slot);
        ++counts.of(level).reads;
        break;
      case COTANGENT_ACTION_ADVANCE: {
        const std::optional<std::uint64_t> end = tape::advance(state, action.step, action.to);
        if (end) schedule.ended(*end);
        counts.advanced += end.value_or(action.to) - action.step;
        break;
      }
      case COTANGENT_ACTION_REVERSE:
        state.reverse(action.step);
        ++counts.recorded;
        break;
      case COTANGENT_ACTION_FREE:
        if constexpr (has_free<std::remove_reference_t<State>>) state.free(level, action.slot);
        break;
      case COTANGENT_ACTION_STORE_RECORD:
        if constexpr (has_records<std::remove_reference_t<State>>) {
          state.store_record(action.step, level, action.slot);
        } else {
          throw Error(COTANGENT_TAPE_RECORD);
        }
        ++counts.recorded;
        ++counts.of(level).writes;
        break;
      case COTANGENT_ACTION_REVERSE_RECORD:
        if constexpr (has_records<std::remove_reference_t<State>>) state.reverse_record(action.step, level, action.slot);
        ++counts.of(level).reads;
        break;
    }
  }
  return counts;
}
template <class State>
Counts run(Schedule&& schedule, State&& state) {
  return run(schedule, std::forward<State>(state));
}

}  // namespace tape
}  // namespace cotangent
