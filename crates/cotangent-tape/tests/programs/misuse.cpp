// Each misuse is an error of the lane, and none gives a value that looks right.
#include <cotangent/tape.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "require.h"

namespace tape = cotangent::tape;

static void push_all(tape::Cursor& cursor, int from, int count) {
  for (int i = 0; i < count; ++i) cursor.push(double(from + i));
}

static void a_mark_of_another_tape(tape::Tape& shared) {
  tape::Tape other;
  tape::Lane lane(shared), foreign(other);
  tape::Cursor cursor(lane), elsewhere(foreign);
  push_all(cursor, 0, 20);
  push_all(elsewhere, 0, 10);
  cursor.rewind(elsewhere.mark());
  REQUIRE(lane.status() == COTANGENT_TAPE_MARK && cursor.pop<double>() == 0);
}

// By so many values a pop goes below the mark, within a slab and over many.
static void a_mark_below_which_was_popped(tape::Tape& shared, int count) {
  tape::Lane lane(shared);
  tape::Cursor cursor(lane);
  push_all(cursor, 0, count + 10);
  const cotangent_mark low = cursor.mark();
  push_all(cursor, 0, 10);
  const cotangent_mark mark = cursor.mark();
  for (int i = 0; i < 11; ++i) cursor.pop<double>();
  push_all(cursor, 1000, 20);
  cursor.rewind(mark);
  REQUIRE(lane.status() == COTANGENT_TAPE_MARK);
  (void)low;
}

static void a_mark_after_clear(tape::Tape& shared) {
  tape::Lane lane(shared);
  cotangent_mark mark;
  {
    tape::Cursor cursor(lane);
    push_all(cursor, 0, 10);
    mark = cursor.mark();
  }
  lane.clear();
  tape::Cursor cursor(lane);
  push_all(cursor, 1000, 20);
  cursor.rewind(mark);
  REQUIRE(lane.status() == COTANGENT_TAPE_MARK);
}

static void marks_that_are_good(tape::Tape& shared) {
  tape::Lane lane(shared);
  tape::Cursor cursor(lane);
  std::vector<cotangent_mark> marks;
  for (int i = 0; i < 30; ++i) {
    marks.push_back(cursor.mark());
    push_all(cursor, i * 1000, 1000);
  }
  for (int i = 30; i-- > 0;) {
    for (int k = 1000; k-- > 500;) REQUIRE(cursor.pop<double>() == i * 1000 + k);
    cursor.hold();
    cursor.seek(marks[i / 2]);
    if (i > 1) REQUIRE(cursor.pop<double>() == i / 2 * 1000 - 1);
    cursor.release();
    REQUIRE(cursor.pop<double>() == i * 1000 + 499);
    push_all(cursor, -5, 3);
    cursor.rewind(marks[i]);
  }
  REQUIRE(lane.status() == COTANGENT_TAPE_OK && lane.position() == 0);
}

static void an_object_of_another_type(tape::Tape& shared) {
  tape::Lane lane(shared);
  tape::Cursor cursor(lane);
  cursor.push_object(std::string("a string that is longer than a small one"));
  try {
    cursor.pop_object<std::vector<int>>();
    REQUIRE(false);
  } catch (const tape::Error& error) {
    REQUIRE(error.status == COTANGENT_TAPE_OBJECT);
  }
}

static double inner(double x, tape::Lane& lane) {
  tape::Cursor cursor(lane);
  cursor.push(x);
  return x * x;
}

static void two_cursors(tape::Tape& shared) {
  tape::Lane lane(shared);
  {
    tape::Cursor cursor(lane);
    cursor.push(1.0);
    inner(2.0, lane);
    for (int i = 0; i < 100000; ++i) cursor.push(3.0);
  }
  REQUIRE(lane.status() == COTANGENT_TAPE_CURSOR);
  {
    tape::Cursor cursor(lane);
    REQUIRE(cursor.pop<double>() == 0);
  }
  lane.clear();
  REQUIRE(lane.status() == COTANGENT_TAPE_OK);
  inner(2.0, lane);
  tape::Cursor cursor(lane);
  REQUIRE(cursor.pop<double>() == 2.0);
}

static void cleared_under_a_cursor(tape::Tape& shared) {
  tape::Lane lane(shared);
  tape::Cursor cursor(lane);
  cursor.push(1.0);
  lane.clear();
  REQUIRE(lane.status() == COTANGENT_TAPE_CURSOR);
}

static void counts_that_no_memory_has(tape::Tape& shared) {
  for (const std::size_t count : {std::size_t(-1), (std::size_t(1) << 61) + 1}) {
    double values[4] = {1, 2, 3, 4};
    tape::Lane pushed(shared), popped(shared);
    tape::Cursor cursor(pushed), other(popped);
    cursor.push(values, 4);
    cursor.push(values, count);
    REQUIRE(pushed.status() == COTANGENT_TAPE_SIZE);
    other.push(values, 4);
    other.pop(values, count);
    REQUIRE(popped.status() == COTANGENT_TAPE_SIZE && values[3] == 4);
  }
}

static std::string what_opening_says(const char* folder) {
  try {
    tape::Tape shared(std::size_t(8) << 20, folder);
  } catch (const tape::Error& error) {
    return error.status == COTANGENT_TAPE_DISK ? error.what() : "another status";
  }
  return "it can be opened";
}

static void folders_in_which_nothing_can_be_made() {
  const std::string said = what_opening_says("/nowhere/at/all");
  REQUIRE(said.find("errno says why: /nowhere/at/all: No such file or directory") != std::string::npos);
  REQUIRE(what_opening_says("").find("No such file") != std::string::npos);
  REQUIRE(what_opening_says("/etc/hostname").find("/etc/hostname: Not a directory") != std::string::npos);
  REQUIRE(what_opening_says("/proc").find("/proc: ") != std::string::npos);
}

static void a_callback_that_throws() {
  cotangent_tape_options options = {};
  options.slab_bytes = 64 << 10;
  options.progress = [](void*, const cotangent_tape_progress*) { throw std::runtime_error("stop"); };
  auto shared = std::make_unique<tape::Tape>(options);
  tape::Lane lane(*shared);
  shared.reset();
  tape::Cursor cursor(lane);
  push_all(cursor, 0, 100000);
  try {
    lane.check();
    REQUIRE(false);
  } catch (const std::runtime_error& error) {
    REQUIRE(std::string(error.what()) == "stop");
  }
  lane.check();
  REQUIRE(cursor.pop<double>() == 99999);
}

// With "unread" as argument: a lane that closes with an error that nobody has asked for.
int main(int count, char** arguments) {
  cotangent_tape_options options = {};
  options.slab_bytes = 64 << 10;
  if (count > 1 && std::string(arguments[1]) == "unread") {
    options.budget_bytes = 256 << 10;
    tape::Tape shared(options);
    tape::Lane lane(shared);
    tape::Cursor cursor(lane);
    push_all(cursor, 1, 100000);
    return 0;
  }
  if (count > 1) {
    options.budget_bytes = std::size_t(512) << 10;
    options.spill = arguments[1];
  }
  tape::Tape shared(options);
  a_mark_of_another_tape(shared);
  for (int before : {0, 8170, 8184, 100000}) a_mark_below_which_was_popped(shared, before);
  a_mark_after_clear(shared);
  marks_that_are_good(shared);
  an_object_of_another_type(shared);
  two_cursors(shared);
  cleared_under_a_cursor(shared);
  counts_that_no_memory_has(shared);
  folders_in_which_nothing_can_be_made();
  a_callback_that_throws();
}
