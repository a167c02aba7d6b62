// The C++ interface, on several threads at once that pass slabs to each other through the tape: cursors, arrays, objects,
// re-reading, and the stack for generated code.
#include <cotangent/tape.hpp>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "require.h"

namespace tape = cotangent::tape;

struct Four {
  double a, b, c, d;
};

static void sweep(tape::Tape& shared, int seed) {
  tape::Lane lane(shared);
  {
    tape::Cursor cursor(lane);
    for (int i = 0; i < 30000; ++i) {
      cursor.push(double(i + seed));
      if (i % 7 == 0) cursor.push(char(i));
      if (i % 1000 == 0) cursor.push_object(std::string(100, char('a' + i / 1000 % 26)));
    }
    std::vector<float> values(50001);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = float(i) + float(seed);
    cursor.push(values.data(), values.size());
    const cotangent_mark mark = cursor.mark();
    for (int i = 0; i < 20000; ++i) cursor.push(Four{1.0 * i, 2.0 * i, 3.0 * i, double(seed)});

    cursor.hold();
    for (int i = 20000; i-- > 0;) {
      const Four four = cursor.pop<Four>();
      REQUIRE(four.b == 2.0 * i && four.d == seed);
    }
    cursor.release();
    cursor.rewind(mark);

    std::vector<float> again(values.size());
    cursor.pop(again.data(), again.size());
    REQUIRE(again == values);
    for (int i = 30000; i-- > 0;) {
      if (i % 1000 == 0) REQUIRE(cursor.pop_object<std::string>() == std::string(100, char('a' + i / 1000 % 26)));
      if (i % 7 == 0) REQUIRE(cursor.pop<char>() == char(i));
      REQUIRE(cursor.pop<double>() == i + seed);
    }
    cursor.push_object(std::make_unique<int>(seed));
    REQUIRE(*cursor.top_object<std::unique_ptr<int>>() == seed);
  }
  lane.check();
  REQUIRE(lane.position() == 0);
}

static void a_stack_is_like_a_vector(tape::Tape& shared) {
  tape::Stack<Four> stack(shared);
  std::vector<double> model;
  for (int i = 0; i < 10000; ++i) {
    stack.emplace_back(Four{double(i), 0, 0, 0});
    stack.back().d = 2.0 * i;
    model.push_back(2.0 * i);
  }
  while (!stack.empty()) {
    REQUIRE(stack.back().d == model.back() && stack.size() == model.size());
    stack.pop_back();
    model.pop_back();
  }
  stack.check();
}

static void errors_are_thrown_once_a_region(tape::Tape& shared) {
  tape::Lane lane(shared);
  {
    tape::Cursor cursor(lane);
    cursor.push(1);
    REQUIRE(cursor.pop<int>() == 1 && cursor.pop<int>() == 0 && cursor.pop<double>() == 0);
    cursor.push(1);
    REQUIRE(cursor.pop<int>() == 0);
  }
  try {
    lane.check();
    REQUIRE(false);
  } catch (const tape::Error& error) {
    REQUIRE(error.status == COTANGENT_TAPE_EMPTY);
  }
}

static void sweep_on_threads(tape::Tape& shared) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> threads;
    for (int seed = 0; seed < 4; ++seed) threads.emplace_back([&, seed] { sweep(shared, seed); });
    for (auto& thread : threads) thread.join();
  }
}

// With a folder as argument, four threads share half a megabyte of memory, and the rest goes there; then with compression.
int main(int count, char** arguments) {
  cotangent_tape_options options = {};
  options.slab_bytes = 64 << 10;
  if (count > 1) {
    options.budget_bytes = std::size_t(512) << 10;
    options.spill = arguments[1];
    tape::Tape plain(options);
    sweep_on_threads(plain);
    options.budget_bytes += std::size_t(1) << 20;
    options.compress = 1;
  }
  tape::Tape shared(options);
  sweep_on_threads(shared);
  a_stack_is_like_a_vector(shared);
  errors_are_thrown_once_a_region(shared);
}
