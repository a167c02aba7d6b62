// Checkpoint schedules in C: states on a lane, which is a stack; errors.
#include <cotangent/tape.h>
#include <stdio.h>
#include <stdlib.h>

#include "require.h"

static double step(double x) { return x + 0.1 * x * x; }

// The derivative of the last state with respect to the first, with the states of the schedule on a lane. Counts the steps it
// ran.
static double derivative(cotangent_schedule* schedule, cotangent_lane* lane, double x, uint64_t* ran) {
  double adjoint = 1;
  for (;;) {
    cotangent_action action;
    REQUIRE(cotangent_schedule_next(schedule, &action) == COTANGENT_TAPE_OK);
    switch (action.kind) {
      case COTANGENT_ACTION_STORE:
        REQUIRE(cotangent_lane_position(lane) == action.slot * sizeof x);
        COTANGENT_TAPE_PUSH(lane, x);
        break;
      case COTANGENT_ACTION_RESTORE:
        COTANGENT_TAPE_POP(lane, x);
        REQUIRE(cotangent_lane_position(lane) == action.slot * sizeof x);
        COTANGENT_TAPE_PUSH(lane, x);
        break;
      case COTANGENT_ACTION_ADVANCE:
        for (uint64_t i = action.step; i < action.to; ++i) x = step(x);
        *ran += action.to - action.step;
        break;
      case COTANGENT_ACTION_REVERSE:
        adjoint *= 1 + 0.2 * x;
        ++*ran;
        break;
      case COTANGENT_ACTION_STORE_RECORD:
        REQUIRE(cotangent_lane_position(lane) == action.slot * sizeof x);
        COTANGENT_TAPE_PUSH(lane, x);
        x = step(x);
        ++*ran;
        break;
      case COTANGENT_ACTION_REVERSE_RECORD:
        COTANGENT_TAPE_POP(lane, x);
        REQUIRE(cotangent_lane_position(lane) == action.slot * sizeof x);
        adjoint *= 1 + 0.2 * x;
        COTANGENT_TAPE_PUSH(lane, x);
        break;
      case COTANGENT_ACTION_FREE:
        COTANGENT_TAPE_POP(lane, x);
        break;
      case COTANGENT_ACTION_END:
        REQUIRE(cotangent_lane_position(lane) == 0 && cotangent_lane_status(lane) == COTANGENT_TAPE_OK);
        return adjoint;
      default:
        REQUIRE(0);
    }
  }
}

static void all_kinds_give_the_derivative(cotangent_lane* lane) {
  enum { STEPS = 100 };
  double x = 0.01, expected = 1;
  for (int i = 0; i < STEPS; ++i) {
    expected *= 1 + 0.2 * x;
    x = step(x);
  }
  const struct {
    cotangent_schedule_options options;
    uint64_t steps;
  } kinds[] = {{{COTANGENT_SCHEDULE_REVOLVE, STEPS, 5, 0, {0}}, 416},
               {{COTANGENT_SCHEDULE_MIXED, STEPS, 5, 0, {0}}, 352},
               {{COTANGENT_SCHEDULE_TWO_LEVEL, STEPS, 5, 0, {0}}, 416}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    cotangent_schedule* schedule;
    REQUIRE(cotangent_schedule_open(&kinds[i].options, &schedule) == COTANGENT_TAPE_OK);
    REQUIRE(cotangent_schedule_slots(schedule, COTANGENT_LEVEL_MEMORY) == 5);
    REQUIRE(cotangent_schedule_slots(schedule, COTANGENT_LEVEL_DISK) == 0);
    uint64_t ran = 0;
    const double found = derivative(schedule, lane, 0.01, &ran);
    REQUIRE(ran == kinds[i].steps && found > expected * (1 - 1e-12) && found < expected * (1 + 1e-12));
    // Its end stays.
    cotangent_action action;
    REQUIRE(cotangent_schedule_next(schedule, &action) == COTANGENT_TAPE_OK && action.kind == COTANGENT_ACTION_END);
    cotangent_schedule_close(schedule);
  }
}

static void misuse_is_an_error(void) {
  const cotangent_schedule_options bad[] = {{0, 10, 3, 0, {0}},
 {99, 10, 3, 0, {0}}, {COTANGENT_SCHEDULE_REVOLVE, 10, 0, 0, {0}},
 {COTANGENT_SCHEDULE_REVOLVE, 10, 3, 1, {0}},
 {COTANGENT_SCHEDULE_MIXED, 10, 3, 0, {0, 0, 1, 0}},
 {COTANGENT_SCHEDULE_TWO_LEVEL, 10, 0, 0, {0}},
 {COTANGENT_SCHEDULE_TWO_LEVEL, 10, 1, 1, {0, -1, 0, 0}},
                                            {COTANGENT_SCHEDULE_ONLINE, 10, 3, 0, {0}}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    cotangent_schedule* schedule;
    REQUIRE(cotangent_schedule_open(&bad[i], &schedule) == COTANGENT_TAPE_SLOTS && schedule == NULL);
  }
  cotangent_schedule* schedule;
  REQUIRE(cotangent_schedule_open(NULL, &schedule) == COTANGENT_TAPE_SLOTS && schedule == NULL);
  cotangent_action action;
  REQUIRE(cotangent_schedule_next(NULL, &action) != COTANGENT_TAPE_OK && action.kind == COTANGENT_ACTION_END);
  REQUIRE(cotangent_schedule_ended(NULL, 3) != COTANGENT_TAPE_OK);
  cotangent_schedule_close(NULL);

  // It knew the number of steps, and cannot be told another.
  const cotangent_schedule_options options = {COTANGENT_SCHEDULE_REVOLVE, 10, 3, 0, {0}};
  REQUIRE(cotangent_schedule_open(&options, &schedule) == COTANGENT_TAPE_OK);
  REQUIRE(cotangent_schedule_next(schedule, &action) == COTANGENT_TAPE_OK && action.kind == COTANGENT_ACTION_STORE);
  REQUIRE(cotangent_schedule_ended(schedule, 7) == COTANGENT_TAPE_ENDED);
  REQUIRE(cotangent_schedule_next(schedule, &action) == COTANGENT_TAPE_ENDED && action.kind == COTANGENT_ACTION_END);
  cotangent_schedule_close(schedule);
}

// States in an array of slots, and a condition that ends the loop.
static void a_loop_of_unknown_length(void) {
  const cotangent_schedule_options options = {COTANGENT_SCHEDULE_ONLINE, 0, 4, 0, {0}};
  cotangent_schedule* schedule;
  REQUIRE(cotangent_schedule_open(&options, &schedule) == COTANGENT_TAPE_OK);
  double kept[4], x = 0.01, adjoint = 1, expected = 1;
  for (double y = 0.01; y < 1; y = step(y)) expected *= 1 + 0.2 * y;
  int has_ended = 0;
  for (;;) {
    cotangent_action action;
    REQUIRE(cotangent_schedule_next(schedule, &action) == COTANGENT_TAPE_OK);
    if (action.kind == COTANGENT_ACTION_END) break;
    if (action.kind == COTANGENT_ACTION_STORE) kept[action.slot] = x;
    if (action.kind == COTANGENT_ACTION_RESTORE) x = kept[action.slot];
    if (action.kind == COTANGENT_ACTION_REVERSE) adjoint *= 1 + 0.2 * x;
    if (action.kind == COTANGENT_ACTION_ADVANCE) {
      uint64_t i = action.step;
      for (; i < action.to && x < 1; ++i) x = step(x);
      if (!has_ended && x >= 1) {
        REQUIRE(cotangent_schedule_ended(schedule, i) == COTANGENT_TAPE_OK);
        has_ended = 1;
      }
    }
  }
  REQUIRE(has_ended && adjoint > expected * (1 - 1e-12) && adjoint < expected * (1 + 1e-12));
  REQUIRE(cotangent_schedule_ended(schedule, 3) == COTANGENT_TAPE_ENDED);
  cotangent_schedule_close(schedule);
}

int main(void) {
  cotangent_tape* tape;
  REQUIRE(cotangent_tape_open(NULL, &tape) == COTANGENT_TAPE_OK);
  cotangent_lane* lane = cotangent_lane_open(tape);
  all_kinds_give_the_derivative(lane);
  a_loop_of_unknown_length();
  misuse_is_an_error();
  cotangent_lane_close(lane);
  cotangent_tape_close(tape);
  return 0;
}
