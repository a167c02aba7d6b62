// The tape library, for C: stores what a reverse sweep will want back, last in first out. docs/tape.md is the manual,
// <cotangent/tape.hpp> the same for C++. Link with libcotangent_tape (and, if it is the static one, -lpthread -ldl -lm).
//
//   cotangent_tape* tape;
//   if (cotangent_tape_open(NULL, &tape) != COTANGENT_TAPE_OK) { ... }
//   cotangent_lane* lane = cotangent_lane_open(tape);
//   COTANGENT_TAPE_PUSH(lane, x);                                   any variable
//   COTANGENT_TAPE_POP(lane, x);                                    in reverse
//   if (cotangent_lane_status(lane) != COTANGENT_TAPE_OK) { ... }   once a region; errors stay
//
// A lane is a stack of bytes, for one thread at a time. Values are packed without padding and copied in and out.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cotangent_tape cotangent_tape;

// Where a lane stands. `lo <= cur`, and `cur <= hi` while values may be pushed. Whoever pushes n bytes compares
// n with `hi - cur` (signed) and copies, or calls cotangent_lane_push; whoever pops compares with `cur - lo`.
typedef struct cotangent_cursor {
  unsigned char* cur;
  unsigned char* lo;
  unsigned char* hi;
} cotangent_cursor;

// A lane begins with its cursor, and how many there are that keep a copy of it; the rest is private.
typedef struct cotangent_lane {
  cotangent_cursor cursor;
  uint32_t cursors;
} cotangent_lane;

// Good until something below it is popped. It knows its lane, and when it was taken.
typedef struct cotangent_mark {
  uint64_t position;
  uint64_t number;
  uint64_t lane;
  uint64_t objects;
} cotangent_mark;

typedef enum cotangent_tape_status {
  COTANGENT_TAPE_OK = 0,
  COTANGENT_TAPE_EMPTY = 1,     // more popped than pushed
  COTANGENT_TAPE_HELD = 2,      // pushed while the lane is read again
  COTANGENT_TAPE_MARK = 3,      // no mark of this lane, or no longer
  COTANGENT_TAPE_OBJECT = 4,    // no such object
  COTANGENT_TAPE_OPTIONS = 5,   // impossible sizes, or compression through io_uring
  COTANGENT_TAPE_MEMORY = 6,    // the system gave no memory
  COTANGENT_TAPE_BUDGET = 7,    // the budget is used up, and there is no disk, or there are more lanes than slabs
  COTANGENT_TAPE_PANICKED = 8,  // a fault of the library
  COTANGENT_TAPE_DISK_FULL = 9, // no room to spill to
  COTANGENT_TAPE_DISK = 10,     // the system could not open, write or read the file
  COTANGENT_TAPE_CORRUPT = 11,  // a block came back changed
  COTANGENT_TAPE_STALE = 12,    // another block came back
  COTANGENT_TAPE_FORKED = 13,   // a child cannot use what its parent has spilled
  COTANGENT_TAPE_SIZE = 14,     // an array popped with another size than it was pushed with, or of one that no memory has
  COTANGENT_TAPE_DEVICE = 15,   // the GPU's runtime failed
  COTANGENT_TAPE_CURSOR = 16,   // a second cursor, or a lane that is cleared under one
  COTANGENT_TAPE_SLOTS = 17,    // numbers that no checkpoint schedule can have
  COTANGENT_TAPE_ENDED = 18,    // a loop that ended at another step than its checkpoint schedule allows
  COTANGENT_TAPE_RECORD = 19    // a mixed checkpoint schedule of a loop that keeps no records
} cotangent_tape_status;

// How far a lane has come.
typedef struct cotangent_tape_progress {
  uint64_t bytes;          // on the lane
  uint64_t bytes_on_disk;  // of them, on disk only
  uint32_t lane;           // which lane of its tape, from zero
} cotangent_tape_progress;

// Zero stands for the default.
typedef struct cotangent_tape_options {
  size_t slab_bytes;      // a power of two; 2 MiB
  size_t budget_bytes;    // memory of all lanes together; no limit
  const char* spill;      // the folder for what does not fit; without one, that is an error
  // Folders on other disks, in the order in which they are used, each when all before it are full. After the last comes NULL.
  const char* const* spill_more;
  uint32_t use_io_uring;  // not zero: io_uring for the disk where it is allowed; otherwise threads
  // Called once a slab by the thread that pushes or pops; must not use the lane, and must not throw.
  void (*progress)(void* context, const cotangent_tape_progress* progress);
  // Called when all folders are full, with the first of them: not zero is to try again, zero makes it the lane's error. It may free room
  // or wait for somebody who does. As for `progress`, it must not use the lane and must not throw; several threads may be in it.
  int (*full)(void* context, const char* folder);
  void* context;  // of both
  uint32_t compress;  // not zero: blocks that go to disk are compressed as long as that pays; through threads only
} cotangent_tape_options;

// What a lane has cost since it was opened. The layer below is the disk.
typedef struct cotangent_tape_stats {
  uint64_t bytes_written;  // to the layer below
  uint64_t bytes_read;     // and back
  uint64_t hits;           // what was there when it was needed
  uint64_t stalls;         // what had to be waited for
  uint64_t stalled_ns;
  uint64_t bytes_saved;     // kept from being written by compression
  uint64_t times_given_up;  // compression, because it did not pay; it is tried again now and then
} cotangent_tape_stats;

// A tape is a budget that lanes share. It may be closed before its lanes are. If no file can be made in a folder, errno says why.
uint32_t cotangent_tape_open(const cotangent_tape_options* options, cotangent_tape** tape);
void cotangent_tape_close(cotangent_tape* tape);
const char* cotangent_tape_message(uint32_t status);
size_t cotangent_tape_peak_bytes(const cotangent_tape* tape);  // the most memory that its lanes ever had at a time

cotangent_lane* cotangent_lane_open(cotangent_tape* tape);
// An error whose status nobody has asked for is told on standard error.
void cotangent_lane_close(cotangent_lane* lane);

// The slow way, for any number of bytes: once a slab. After an error pushes do nothing and pops give zeros.
void cotangent_lane_push(cotangent_lane* lane, const void* from, size_t bytes);
void cotangent_lane_pop(cotangent_lane* lane, void* to, size_t bytes);

// The first error since the lane was opened or cleared.
uint32_t cotangent_lane_status(cotangent_lane* lane);
int cotangent_lane_errno(cotangent_lane* lane);           // the system's number if the status is DISK, ENOSPC if it is DISK_FULL, or zero
const char* cotangent_lane_folder(cotangent_lane* lane);  // that the error is about, the first without one, or NULL
void cotangent_lane_clear(cotangent_lane* lane);
// For who keeps a copy of the cursor: counts in `cursors`, and calls this if there was one already.
void cotangent_lane_second_cursor(cotangent_lane* lane);
uint64_t cotangent_lane_position(cotangent_lane* lane);
cotangent_tape_stats cotangent_lane_stats(cotangent_lane* lane);

// Going back to a place, forgetting what came later.
cotangent_mark cotangent_lane_mark(cotangent_lane* lane);
void cotangent_lane_rewind(cotangent_lane* lane, cotangent_mark mark);

// Reading again: between hold and release pops forget nothing and pushes are errors; seek goes to a mark.
void cotangent_lane_hold(cotangent_lane* lane);
void cotangent_lane_seek(cotangent_lane* lane, cotangent_mark mark);
void cotangent_lane_release(cotangent_lane* lane);

// The side lane, for what is more than bytes: it stays in memory, and is destroyed when the lane is rewound below it.
// `destroy` must not throw. What is popped belongs to the caller. `kind` stands for the object's type: an address that all
// who use this type have in common, or NULL. Of another kind than was pushed is an error, and gives NULL.
void cotangent_lane_push_object(cotangent_lane* lane, void* object, const void* kind, void (*destroy)(void*));
void* cotangent_lane_pop_object(cotangent_lane* lane, const void* kind);
void* cotangent_lane_top_object(cotangent_lane* lane, const void* kind);

// Arrays that lie in a GPU's memory: a stack of them, the newest on the GPU, older ones in pinned memory, then on a lane of its own.
typedef struct cotangent_device_lane cotangent_device_lane;

// CUDA's functions of these names (stream_create and event_create are those WithFlags); pointers stand for its handles.
typedef struct cotangent_cuda_functions {
  int (*malloc_host)(void** memory, size_t bytes);
  int (*free_host)(void* memory);
  int (*malloc)(void** memory, size_t bytes);
  int (*free)(void* memory);
  int (*get_last_error)(void);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_destroy)(void* stream);
  int (*stream_wait_event)(void* stream, void* event, unsigned flags);
  int (*event_create)(void** event, unsigned flags);
  int (*event_destroy)(void* event);
  int (*event_record)(void* event, void* stream);
  int (*event_query)(void* event);
  int (*event_synchronize)(void* event);
  int (*memcpy_async)(void* to, const void* from, size_t bytes, int kind, void* stream);
} cotangent_cuda_functions;

// Zero stands for the default.
typedef struct cotangent_device_options {
  size_t chunk_bytes;                    // bytes a copy; 4 MiB
  size_t pinned_bytes;                   // pinned memory in all, allocated once; 64 MiB
  size_t device_bytes;                   // memory of the GPU in all, allocated once; 64 MiB; none if it is less than two chunks
  const cotangent_cuda_functions* cuda;  // NULL: those of the libcudart that the system finds
} cotangent_device_options;

// What each layer has cost. Of the first three bytes_written went into it from above, bytes_read came back from it, hits are
// pieces of arrays that were there when they were wanted, and stalls are waits for a chunk there.
typedef struct cotangent_device_stats {
  cotangent_tape_stats device;  // copies on the GPU
  cotangent_tape_stats pinned;  // over the bus
  cotangent_tape_stats memory;  // by the host, to the lane
  cotangent_tape_stats disk;    // as cotangent_lane_stats
} cotangent_device_stats;

uint32_t cotangent_device_lane_open(cotangent_tape* tape, const cotangent_device_options* options,
                                    cotangent_device_lane** lane);
void cotangent_device_lane_close(cotangent_device_lane* lane);

// Pushes an array as it is when all that the stream was given so far is done; pops it before all that the stream is given
// later. In between the stream may overwrite it. After an error arrays stay as they are.
void cotangent_device_lane_push(cotangent_device_lane* lane, const void* array, size_t bytes, void* stream);
void cotangent_device_lane_pop(cotangent_device_lane* lane, void* array, size_t bytes, void* stream);

// Going back to a place, forgetting the arrays that came later.
cotangent_mark cotangent_device_lane_mark(cotangent_device_lane* lane);
void cotangent_device_lane_rewind(cotangent_device_lane* lane, cotangent_mark mark);

// Reading again: between hold and release pops forget nothing and pushes are errors; seek goes to a mark.
void cotangent_device_lane_hold(cotangent_device_lane* lane);
void cotangent_device_lane_seek(cotangent_device_lane* lane, cotangent_mark mark);
void cotangent_device_lane_release(cotangent_device_lane* lane);

// Waits for all copies: the first error, if one of them failed.
uint32_t cotangent_device_lane_status(cotangent_device_lane* lane);
int cotangent_device_lane_error(cotangent_device_lane* lane);  // CUDA's own number if the status is DEVICE
void cotangent_device_lane_clear(cotangent_device_lane* lane);
cotangent_device_stats cotangent_device_lane_stats(cotangent_device_lane* lane);

// Checkpoint schedules: which states of a loop to keep, and from which to compute again, so that its steps can be reversed
// one after the other with room for few states. Step i takes state i to state i + 1; state 0 is in hand at first. For one
// thread at a time.
typedef struct cotangent_schedule cotangent_schedule;

typedef enum cotangent_schedule_kind {
  COTANGENT_SCHEDULE_REVOLVE = 1,  // so many steps, so many slots: the fewest steps there can be
  COTANGENT_SCHEDULE_ONLINE = 2,   // as many steps as the loop will turn out to have; the caller says when it has ended
  COTANGENT_SCHEDULE_MIXED = 3,    // as REVOLVE, but a slot keeps either a state or what the reverse of a step needs, its record
  COTANGENT_SCHEDULE_TWO_LEVEL = 4 // slots in memory and on disk, and what it costs to use them: the least time there can be
} cotangent_schedule_kind;

// What keeping a state and taking it again costs, in runs of one step: from zero to 10^9.
typedef struct cotangent_costs {
  double memory_write;
  double memory_read;
  double disk_write;
  double disk_read;
} cotangent_costs;

// What a kind does not have is zero, or an error.
typedef struct cotangent_schedule_options {
  uint32_t kind;          // of cotangent_schedule_kind; zero is an error
  uint64_t steps;         // of the loop; ONLINE has none
  size_t slots;           // states that there is room for in memory, state 0 included
  size_t disk_slots;      // and on disk: TWO_LEVEL only. No slot at all is an error, whatever the steps
  cotangent_costs costs;  // TWO_LEVEL only
} cotangent_schedule_options;

typedef enum cotangent_level {
  COTANGENT_LEVEL_MEMORY = 0,
  COTANGENT_LEVEL_DISK = 1
} cotangent_level;

// A level is a stack: a store takes the lowest slot, above all that are taken; a restore and a free are about the highest
// that is taken. So a lane can keep the states of a level, which then needs no numbers of slots. Not so ONLINE: until the loop
// has ended a free may be about any slot but that of state 0, and slots are not taken in order later either, though restores and
// frees are then about the state kept last. Its states need an array of slots.
typedef enum cotangent_action_kind {
  COTANGENT_ACTION_END = 0,      // all steps are reversed, or there is an error
  COTANGENT_ACTION_STORE = 1,    // keep a copy of the state in hand, which is state `step`, in this slot
  COTANGENT_ACTION_RESTORE = 2,  // take a copy of state `step` into the hand; the slot keeps it
  COTANGENT_ACTION_ADVANCE = 3,  // run steps `step` to `to - 1`, keeping nothing
  COTANGENT_ACTION_REVERSE = 4,  // run step `step` from the state in hand with what its reverse needs, and reverse it
  COTANGENT_ACTION_FREE = 5,     // what is in this slot is not needed any more
  // Of MIXED only. Run step `step` from the state in hand, recording what its reverse needs in this slot; state `step + 1` is in
  // hand afterwards.
  COTANGENT_ACTION_STORE_RECORD = 6,
  // Reverse step `step` by the record in this slot. No step is run, and no state is in hand.
  COTANGENT_ACTION_REVERSE_RECORD = 7
} cotangent_action_kind;

// What a kind of action does not have is zero.
typedef struct cotangent_action {
  uint32_t kind;
  uint32_t level;
  size_t slot;
  uint64_t step;
  uint64_t to;
} cotangent_action;

// The first error of a schedule stays: every later call gives it, and there is no action.
uint32_t cotangent_schedule_open(const cotangent_schedule_options* options, cotangent_schedule** schedule);
void cotangent_schedule_close(cotangent_schedule* schedule);
uint32_t cotangent_schedule_next(cotangent_schedule* schedule, cotangent_action* action);
// The loop has so many steps, and its last state is in hand: right after an ADVANCE, all or a part of which was run, or after
// a STORE. The actions that follow reverse it. An error for schedules that were told the steps.
uint32_t cotangent_schedule_ended(cotangent_schedule* schedule, uint64_t steps);
size_t cotangent_schedule_slots(cotangent_schedule* schedule, uint32_t level);  // in use at most

#ifdef __cplusplus
}
#endif

#if defined(__GNUC__) || defined(__clang__)
#define COTANGENT_TAPE_LIKELY(condition) __builtin_expect(!!(condition), 1)
#else
#define COTANGENT_TAPE_LIKELY(condition) (condition)
#endif

static inline void cotangent_push_bytes(cotangent_lane* lane, const void* from, size_t bytes) {
  cotangent_cursor* cursor = &lane->cursor;
  if (COTANGENT_TAPE_LIKELY(bytes <= PTRDIFF_MAX && cursor->hi - cursor->cur >= (ptrdiff_t)bytes)) {
    memcpy(cursor->cur, from, bytes);
    cursor->cur += bytes;
  } else {
    cotangent_lane_push(lane, from, bytes);
  }
}

static inline void cotangent_pop_bytes(cotangent_lane* lane, void* to, size_t bytes) {
  cotangent_cursor* cursor = &lane->cursor;
  if (COTANGENT_TAPE_LIKELY(bytes <= PTRDIFF_MAX && cursor->cur - cursor->lo >= (ptrdiff_t)bytes)) {
    cursor->cur -= bytes;
    memcpy(to, cursor->cur, bytes);
  } else {
    cotangent_lane_pop(lane, to, bytes);
  }
}

#define COTANGENT_TAPE_PUSH(lane, variable) cotangent_push_bytes((lane), &(variable), sizeof(variable))
#define COTANGENT_TAPE_POP(lane, variable) cotangent_pop_bytes((lane), &(variable), sizeof(variable))
