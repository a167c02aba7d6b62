// The C interface: scalars, records, arrays, marks, re-reading, objects and errors.
#include <cotangent/tape.h>
#include <stdio.h>
#include <stdlib.h>

#include "require.h"

struct record {
  double x;
  int i;
  char c;
};

static int destroyed = 0;
static void destroy(void* object) {
  ++destroyed;
  free(object);
}

static void values_come_back_to(cotangent_lane* lane, uint64_t position) {
  for (int i = 0; i < 100000; ++i) {
    struct record r = {i * 0.5, i, (char)i};
    const char flag = (char)(i % 3);
    COTANGENT_TAPE_PUSH(lane, r);
    COTANGENT_TAPE_PUSH(lane, flag);
  }
  for (int i = 100000; i-- > 0;) {
    struct record r;
    char flag;
    COTANGENT_TAPE_POP(lane, flag);
    COTANGENT_TAPE_POP(lane, r);
    REQUIRE(flag == (char)(i % 3) && r.x == i * 0.5 && r.i == i && r.c == (char)i);
  }
  REQUIRE(cotangent_lane_position(lane) == position);
}

static void values_come_back(cotangent_lane* lane) { values_come_back_to(lane, 0); }

static void regions_are_read_twice_and_rewound(cotangent_lane* lane) {
  for (int i = 0; i < 50000; ++i) COTANGENT_TAPE_PUSH(lane, i);
  const cotangent_mark mark = cotangent_lane_mark(lane);
  for (int i = 50000; i < 90000; ++i) COTANGENT_TAPE_PUSH(lane, i);
  for (int round = 0; round < 2; ++round) {
    cotangent_lane_hold(lane);
    if (round == 1) cotangent_lane_seek(lane, mark);
    for (int i = round == 1 ? 50000 : 90000; i-- > 0;) {
      int value;
      COTANGENT_TAPE_POP(lane, value);
      REQUIRE(value == i);
    }
    cotangent_lane_release(lane);
  }
  cotangent_lane_push_object(lane, malloc(8), NULL, destroy);
  cotangent_lane_push_object(lane, malloc(8), NULL, destroy);
  free(cotangent_lane_pop_object(lane, NULL));
  cotangent_lane_rewind(lane, mark);
  REQUIRE(destroyed == 1);
  int value;
  COTANGENT_TAPE_POP(lane, value);
  REQUIRE(value == 49999);
}

static void errors_stay_and_pops_give_zeros(cotangent_lane* lane) {
  cotangent_lane_clear(lane);
  REQUIRE(cotangent_lane_status(lane) == COTANGENT_TAPE_OK);
  const double one = 1;
  double value = 2;
  COTANGENT_TAPE_PUSH(lane, one);
  COTANGENT_TAPE_POP(lane, value);
  COTANGENT_TAPE_POP(lane, value);
  REQUIRE(value == 0 && cotangent_lane_status(lane) == COTANGENT_TAPE_EMPTY);
  COTANGENT_TAPE_PUSH(lane, one);
  COTANGENT_TAPE_POP(lane, value);
  REQUIRE(value == 0 && cotangent_lane_status(lane) == COTANGENT_TAPE_EMPTY);
  REQUIRE(cotangent_tape_message(COTANGENT_TAPE_EMPTY)[0] == 'm');

  cotangent_lane_clear(lane);
  COTANGENT_TAPE_PUSH(lane, one);
  cotangent_lane_hold(lane);
  COTANGENT_TAPE_PUSH(lane, one);
  REQUIRE(cotangent_lane_status(lane) == COTANGENT_TAPE_HELD);
}

static void count(void* context, const cotangent_tape_progress* progress) {
  REQUIRE(progress->lane == 0 && progress->bytes_on_disk <= progress->bytes);
  ++*(int*)context;
}

// With a folder as argument.
static void spilling_is_counted(const char* folder) {
  int slabs = 0;
  cotangent_tape_options options = {0};
  options.slab_bytes = 64 << 10;
  options.budget_bytes = 256 << 10;
  options.spill = folder;
  options.use_io_uring = 1;
  options.progress = count;
  options.context = &slabs;
  cotangent_tape* tape;
  REQUIRE(cotangent_tape_open(&options, &tape) == COTANGENT_TAPE_OK);
  cotangent_lane* lane = cotangent_lane_open(tape);
  values_come_back(lane);
  const cotangent_tape_stats stats = cotangent_lane_stats(lane);
  REQUIRE(stats.bytes_written > 1000000 && stats.bytes_read > 1000000 && stats.hits + stats.stalls > 10);
  REQUIRE(slabs > 40 && cotangent_tape_peak_bytes(tape) <= (6 * 64) << 10);
  REQUIRE(cotangent_lane_status(lane) == COTANGENT_TAPE_OK);
  cotangent_lane_close(lane);
  cotangent_tape_close(tape);
}

// Zeros compress whatever else is true of the machine; the first blocks are always tried.
static void blocks_are_compressed(const char* folder) {
  cotangent_tape_options options = {0};
  options.slab_bytes = 64 << 10;
  options.budget_bytes = 2 << 20;
  options.spill = folder;
  options.use_io_uring = 1;
  options.compress = 1;
  cotangent_tape* tape;
  REQUIRE(cotangent_tape_open(&options, &tape) == COTANGENT_TAPE_OPTIONS && tape == NULL);
  options.use_io_uring = 0;
  REQUIRE(cotangent_tape_open(&options, &tape) == COTANGENT_TAPE_OK);
  cotangent_lane* lane = cotangent_lane_open(tape);
  double value = 0;
  for (int i = 0; i < 1000000; ++i) COTANGENT_TAPE_PUSH(lane, value);
  values_come_back_to(lane, 8000000);
  for (int i = 1000000; i-- > 0;) {
    value = 1;
    COTANGENT_TAPE_POP(lane, value);
    REQUIRE(value == 0);
  }
  const cotangent_tape_stats stats = cotangent_lane_stats(lane);
  REQUIRE(stats.bytes_saved > 0 && stats.bytes_read > 0);
  REQUIRE(cotangent_tape_peak_bytes(tape) <= 2 << 20);
  REQUIRE(cotangent_lane_status(lane) == COTANGENT_TAPE_OK);
  cotangent_lane_close(lane);
  cotangent_tape_close(tape);
}

int main(int argc, char** argv) {
  cotangent_tape* tape;
  cotangent_tape_options options = {0};
  options.slab_bytes = 3;
  REQUIRE(cotangent_tape_open(&options, &tape) == COTANGENT_TAPE_OPTIONS && tape == NULL);
  options.slab_bytes = 64 << 10;
  REQUIRE(cotangent_tape_open(&options, &tape) == COTANGENT_TAPE_OK);
  cotangent_lane* lane = cotangent_lane_open(tape);
  cotangent_tape_close(tape);
  values_come_back(lane);
  regions_are_read_twice_and_rewound(lane);
  errors_stay_and_pops_give_zeros(lane);
  cotangent_lane_close(lane);
  cotangent_lane_push(NULL, NULL, 0);
  REQUIRE(cotangent_lane_status(NULL) != COTANGENT_TAPE_OK);
  if (argc > 1) {
    spilling_is_counted(argv[1]);
    blocks_are_compressed(argv[1]);
  }
  return 0;
}
