// Arrays of a GPU through C: pushed, popped, read again and forgotten, with a CUDA that does everything at once in host memory.
// It counts what is allocated, and has no more than it is given.
#include <cotangent/tape.h>

#include "require.h"

enum { LENGTH = 3000, CHUNK = 1000, OUT_OF_MEMORY = 2, OTHER = 719 };

static size_t room_on_device;
static size_t bytes_pinned, bytes_on_device, allocations, handles;
static int last_error, next_error;

static int get_memory(void** memory, size_t bytes, size_t* count) {
  *memory = malloc(bytes);
  *count += bytes;
  ++allocations;
  return 0;
}
static int give_back(void* memory) {
  free(memory);
  --allocations;
  return 0;
}
static int malloc_host(void** memory, size_t bytes) { return get_memory(memory, bytes, &bytes_pinned); }
static int malloc_on_device(void** memory, size_t bytes) {
  if (bytes > room_on_device) return last_error = OUT_OF_MEMORY;
  return get_memory(memory, bytes, &bytes_on_device);
}
static int get_last_error(void) {
  const int error = last_error;
  last_error = 0;
  return error;
}
static int create(void** handle, unsigned flags) {
  (void)flags;
  ++handles;
  return (*handle = malloc(1)) == NULL;
}
static int destroy(void* handle) {
  --handles;
  free(handle);
  return 0;
}
static int wait_event(void* stream, void* event, unsigned flags) {
  (void)flags;
  return stream == NULL || event == NULL;
}
static int record(void* event, void* stream) { return stream == NULL || event == NULL; }
static int is_done(void* event) { return event == NULL; }
static int copy(void* to, const void* from, size_t bytes, int kind, void* stream) {
  REQUIRE(kind >= 1 && kind <= 3 && stream != NULL);
  if (next_error != 0) return next_error;
  memcpy(to, from, bytes);
  return 0;
}

static const cotangent_cuda_functions cuda = {malloc_host, give_back, malloc_on_device, give_back,
                                              get_last_error, create, destroy, wait_event,
                                              create, destroy, record, is_done, is_done, copy};

static char array[LENGTH], other[LENGTH];
static char stream;

static void push(cotangent_device_lane* lane, int value, size_t bytes) {
  memset(array, value, bytes);
  cotangent_device_lane_push(lane, array, bytes, &stream);
}

static void pop(cotangent_device_lane* lane, int value, size_t bytes) {
  memset(array, 0, LENGTH);
  memset(other, value, bytes);
  cotangent_device_lane_pop(lane, array, bytes, &stream);
  REQUIRE(memcmp(array, other, bytes) == 0);
}

static void sweep(cotangent_tape* tape, size_t device_bytes) {
  const cotangent_device_options options = {CHUNK, 5 * CHUNK, device_bytes, &cuda};
  cotangent_device_lane* lane;
  REQUIRE(cotangent_device_lane_open(tape, &options, &lane) == COTANGENT_TAPE_OK);
  // A state of two arrays, as a schedule stores it, and others that come and go.
  for (int i = 0; i < 30; ++i) push(lane, i, LENGTH);
  const cotangent_mark below = cotangent_device_lane_mark(lane);
  push(lane, 101, 10);
  push(lane, 102, 2500);
  const cotangent_mark state = cotangent_device_lane_mark(lane);
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 4; ++k) push(lane, k, LENGTH);
    cotangent_device_lane_rewind(lane, state);
    cotangent_device_lane_hold(lane);
    pop(lane, 102, 2500);
    pop(lane, 101, 10);
    pop(lane, 29, LENGTH);
    cotangent_device_lane_seek(lane, below);
    pop(lane, 29, LENGTH);
    cotangent_device_lane_release(lane);
  }
  cotangent_device_lane_rewind(lane, below);
  for (int i = 30; i-- > 0;) pop(lane, i, LENGTH);
  REQUIRE(cotangent_device_lane_status(lane) == COTANGENT_TAPE_OK);

  const cotangent_device_stats stats = cotangent_device_lane_stats(lane);
  const uint64_t pushed = 30 * LENGTH + 2510 + 20 * LENGTH;
  const int has_layer = device_bytes >= 2 * CHUNK && device_bytes <= room_on_device;
  REQUIRE(stats.device.bytes_written == (has_layer ? pushed : 0));
  REQUIRE(stats.pinned.bytes_written > 0 && stats.pinned.bytes_written <= pushed);
  REQUIRE(stats.memory.bytes_written > 0 && stats.memory.bytes_read >= stats.memory.bytes_written);
  REQUIRE(bytes_pinned == 5 * CHUNK && bytes_on_device == (has_layer ? device_bytes / CHUNK * CHUNK : 0));
  REQUIRE(last_error == 0);

  cotangent_device_lane_rewind(lane, state);
  REQUIRE(cotangent_device_lane_status(lane) == COTANGENT_TAPE_MARK);
  cotangent_device_lane_clear(lane);
  cotangent_device_lane_hold(lane);
  push(lane, 1, 1);
  REQUIRE(cotangent_device_lane_status(lane) == COTANGENT_TAPE_HELD);
  cotangent_device_lane_clear(lane);
  push(lane, 1, 10);
  cotangent_device_lane_pop(lane, array, 11, &stream);
  REQUIRE(cotangent_device_lane_status(lane) == COTANGENT_TAPE_SIZE);
  cotangent_device_lane_clear(lane);
  next_error = OTHER;
  cotangent_device_lane_push(lane, array, 1, &stream);
  REQUIRE(cotangent_device_lane_status(lane) == COTANGENT_TAPE_DEVICE && cotangent_device_lane_error(lane) == OTHER);
  next_error = 0;
  cotangent_device_lane_close(lane);
  REQUIRE(allocations == 0 && handles == 0);
  bytes_pinned = bytes_on_device = 0;
}

int main(int argc, char** argv) {
  cotangent_tape_options options = {0};
  if (argc > 1) {
    options.slab_bytes = 64 << 10;
    options.budget_bytes = 256 << 10;
    options.spill = argv[1];
  }
  cotangent_tape* tape;
  REQUIRE(cotangent_tape_open(&options, &tape) == COTANGENT_TAPE_OK);
  room_on_device = 8 * CHUNK;
  sweep(tape, 8 * CHUNK);
  sweep(tape, 2 * CHUNK + 1);
  sweep(tape, 1);
  sweep(tape, 9 * CHUNK);
  cotangent_tape_close(tape);
  return 0;
}
