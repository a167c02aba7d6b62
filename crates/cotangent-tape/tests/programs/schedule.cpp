// Checkpoint schedules in C++: the driver, the range, errors.
#include <cotangent/schedule.hpp>

#include <cmath>
#include <optional>
#include <type_traits>
#include <vector>

#include "require.h"

namespace tape = cotangent::tape;

// A loop of one number, with its states in an array of slots.
struct Loop {
  double x = 0.01;
  double adjoint = 1;
  std::vector<double> kept = {};

  static double step(double x) { return x + 1e-4 * x * x; }

  void store(cotangent_level, std::size_t slot) {
    if (kept.size() <= slot) kept.resize(slot + 1);
    kept[slot] = x;
  }
  void restore(cotangent_level, std::size_t slot) { x = kept[slot]; }
  void advance(std::uint64_t from, std::uint64_t to) {
    for (; from < to; ++from) x = step(x);
  }
  void reverse(std::uint64_t) { adjoint *= 1 + 2e-4 * x; }
};

// A loop that ends after 50 steps, whatever its schedule says.
struct Ending : Loop {
  std::optional<std::uint64_t> advance(std::uint64_t from, std::uint64_t to) {
    for (; from < to && from < 50; ++from) x = step(x);
    return from == 50 ? std::optional<std::uint64_t>(from) : std::nullopt;
  }
};

static double derivative(int steps) {
  double x = 0.01, result = 1;
  for (int i = 0; i < steps; ++i) {
    result *= 1 + 2e-4 * x;
    x = Loop::step(x);
  }
  return result;
}

static void require_derivative(const Loop& loop, int steps) {
  const double expected = derivative(steps);
  REQUIRE(std::abs(loop.adjoint - expected) < 1e-12 * expected);
}

static void the_driver_runs_all_kinds() {
  Loop loop;
  const tape::Counts counts = tape::run(tape::Schedule::revolve(100, 5), loop);
  require_derivative(loop, 100);
  REQUIRE(counts.steps() == 416 && counts.recorded == 100 && counts.memory.reads == 99 && counts.disk.writes == 0);
}

// What the reverse of a step needs is its slope.
struct Recording : Loop {
  void store_record(std::uint64_t, cotangent_level level, std::size_t slot) {
    const double slope = 1 + 2e-4 * x;
    x = step(x);
    store(level, slot);
    kept[slot] = slope;
  }
  void reverse_record(std::uint64_t, cotangent_level, std::size_t slot) { adjoint *= kept[slot]; }
};

static void slots_for_records() {
  Recording loop;
  const tape::Counts counts = tape::run(tape::Schedule::mixed(100, 5), loop);
  require_derivative(loop, 100);
  REQUIRE(counts.steps() == 352 && counts.recorded == 100);
}

static void a_loop_of_unknown_length() {
  Ending loop;
  const tape::Counts counts = tape::run(tape::Schedule::online(4), loop);
  require_derivative(loop, 50);
  REQUIRE(counts.recorded == 50 && counts.steps() <= tape::run(tape::Schedule::revolve(50, 4), Loop()).steps() + 50);
}

// What is on disk is on a lane, which is a stack as each level is.
struct OnLane : Loop {
  explicit OnLane(tape::Tape& shared) : lane(shared) {}
  tape::Lane lane;

  void store(cotangent_level level, std::size_t slot) {
    if (level == COTANGENT_LEVEL_MEMORY) return Loop::store(level, slot);
    REQUIRE(lane.position() == slot * sizeof x);
    tape::Cursor(lane).push(x);
  }
  void restore(cotangent_level level, std::size_t slot) {
    if (level == COTANGENT_LEVEL_MEMORY) return Loop::restore(level, slot);
    REQUIRE(lane.position() == (slot + 1) * sizeof x);
    tape::Cursor cursor(lane);
    cursor.hold();
    x = cursor.pop<double>();
    cursor.release();
  }
  void free(cotangent_level level, std::size_t) {
    if (level == COTANGENT_LEVEL_DISK) tape::Cursor(lane).pop<double>();
  }
};

static void two_levels(tape::Tape& shared) {
  const cotangent_costs costs = {0.25, 0.25, 3, 2};
  for (int steps : {1, 2, 10, 400, 20000}) {
    OnLane loop(shared);
    const tape::Counts counts = tape::run(tape::Schedule::two_level(std::uint64_t(steps), 3, 50, costs), loop);
    require_derivative(loop, steps);
    loop.lane.check();
    REQUIRE(loop.lane.position() == 0 && counts.recorded == std::uint64_t(steps));
    REQUIRE((counts.disk.writes > 0) == (steps > 10) && counts.steps() < 12 * std::uint64_t(steps));
  }
}

static void a_schedule_is_a_range() {
  tape::Schedule schedule = tape::Schedule::revolve(10, 3);
  int reversed = 0;
  for (const cotangent_action& action : schedule) reversed += action.kind == COTANGENT_ACTION_REVERSE;
  REQUIRE(reversed == 10 && schedule.next().kind == COTANGENT_ACTION_END);
  tape::Schedule moved = std::move(schedule);
  REQUIRE(moved.slots(COTANGENT_LEVEL_MEMORY) == 3);
  for (const cotangent_action& action : tape::Schedule::revolve(0, 3)) REQUIRE(action.kind == 99);
}

struct Freeing : Loop {
  int freed = 0;
  void free(cotangent_level, std::size_t) { ++freed; }
};

static void free_is_called_if_there_is_one() {
  Freeing loop;
  const tape::Counts counts = tape::run(tape::Schedule::revolve(30, 3), loop);
  REQUIRE(loop.freed > 3 && std::uint64_t(loop.freed) == counts.memory.writes);
}

template <class Action>
static std::uint32_t status_of(Action action) {
  try {
    action();
  } catch (const tape::Error& error) {
    return error.status;
  }
  return COTANGENT_TAPE_OK;
}

static void misuse_is_an_error() {
  REQUIRE(status_of([] { tape::Schedule::revolve(10, 0); }) == COTANGENT_TAPE_SLOTS);
  REQUIRE(status_of([] { tape::Schedule::mixed(10, 0); }) == COTANGENT_TAPE_SLOTS);
  REQUIRE(status_of([] { tape::Schedule::two_level(10, 0, 0, {}); }) == COTANGENT_TAPE_SLOTS);
  REQUIRE(status_of([] { tape::Schedule::two_level(10, 2, 2, {0, 0, -1, 0}); }) == COTANGENT_TAPE_SLOTS);
  // No size is too large.
  for (cotangent_schedule_kind kind : {COTANGENT_SCHEDULE_REVOLVE, COTANGENT_SCHEDULE_MIXED, COTANGENT_SCHEDULE_TWO_LEVEL}) {
    tape::Schedule schedule(cotangent_schedule_options{std::uint32_t(kind), UINT64_MAX, SIZE_MAX, 0, {}});
    REQUIRE(schedule.next().kind != COTANGENT_ACTION_END);
  }
  REQUIRE(status_of([] { tape::run(tape::Schedule::mixed(10, 3), Loop()); }) == COTANGENT_TAPE_RECORD);
  REQUIRE(status_of([] { tape::Schedule::online(0); }) == COTANGENT_TAPE_SLOTS);
  REQUIRE(status_of([] { tape::run(tape::Schedule::revolve(100, 5), Ending()); }) == COTANGENT_TAPE_ENDED);
  REQUIRE(status_of([] { tape::run(tape::Schedule::revolve(50, 5), Ending()); }) == COTANGENT_TAPE_OK);
}

static_assert(!std::is_copy_constructible_v<tape::Schedule>, "a schedule goes on in one place");

int main() {
  tape::Tape shared;
  the_driver_runs_all_kinds();
  slots_for_records();
  a_loop_of_unknown_length();
  two_levels(shared);
  a_schedule_is_a_range();
  free_is_called_if_there_is_one();
  misuse_is_an_error();
}
