// The C ABI between a CUDA program compiled for the CPU and the runtime that executes it.
//
// The program is a shared object; the runtime lives in the process that loads it and hands over
// one table of functions, `CotangentApi`. Everything that a kernel or the runtime API needs from
// the executor goes through this table, so the program links against nothing. The same layout is
// written in Rust (`crates/cotangent-cpu/src/abi.rs`), and a test compares sizes and offsets.
// A change of layout or meaning raises COTANGENT_ABI_VERSION.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define COTANGENT_ABI_VERSION 3u

// The largest dynamic shared memory of a block, in bytes (that of compute capability 9.0).
#define COTANGENT_MAX_DYNAMIC_SHARED 232448

// Bytes after a program's static shared memory that belong to no variable, so that the checks see
// an index that is too large.
#define COTANGENT_SHARED_GUARD 1024

extern "C" {

struct CotangentDim {
  uint32_t x, y, z;
};

// Where something stands in the user's source. `file` lives as long as the program.
struct CotangentSite {
  const char* file;
  uint32_t line;
};

// A copy, fill, allocation or release as it is asked for: in which stream, whether the host goes on without it, and where
// in the source.
struct CotangentRequest {
  void* stream;
  uint32_t asynchronous;
  CotangentSite site;
};

// What a barrier computes from the predicates of the threads that arrive at it.
enum CotangentBarrier : uint32_t {
  COTANGENT_BARRIER_PLAIN,
  COTANGENT_BARRIER_COUNT,
  COTANGENT_BARRIER_AND,
  COTANGENT_BARRIER_OR,
};

// What the lanes of a warp compute together. Operands and results are 64 bits wide; a narrower
// value is in the low bits.
enum CotangentCollective : uint32_t {
  COTANGENT_WARP_SYNC,
  COTANGENT_SHUFFLE_INDEX,
  COTANGENT_SHUFFLE_UP,
  COTANGENT_SHUFFLE_DOWN,
  COTANGENT_SHUFFLE_XOR,
  COTANGENT_BALLOT,
  COTANGENT_ANY,
  COTANGENT_ALL,
  COTANGENT_MATCH_ANY,
  COTANGENT_MATCH_ALL,
  COTANGENT_REDUCE_ADD,
  COTANGENT_REDUCE_MIN_SIGNED,
  COTANGENT_REDUCE_MIN_UNSIGNED,
  COTANGENT_REDUCE_MAX_SIGNED,
  COTANGENT_REDUCE_MAX_UNSIGNED,
  COTANGENT_REDUCE_AND,
  COTANGENT_REDUCE_OR,
  COTANGENT_REDUCE_XOR,
};

// Which variable a symbol is.
enum CotangentSpace : uint32_t {
  COTANGENT_SPACE_DEVICE,
  COTANGENT_SPACE_CONSTANT,
  COTANGENT_SPACE_MANAGED,
};

enum CotangentMemory : uint32_t {
  COTANGENT_MEMORY_DEVICE,
  COTANGENT_MEMORY_MANAGED,
  COTANGENT_MEMORY_PINNED,
};

// What an instrumented access does. Loads and stores that are atomic count as atomic operations.
enum CotangentAccess : uint32_t {
  COTANGENT_READ,
  COTANGENT_WRITE,
  COTANGENT_ATOMIC,
};

// A launch: the configuration, and the functions of the program that run it. `run_thread` runs
// the kernel for the current thread. `run_blocks`, if not null, runs all threads of `count` blocks
// from linear block index `first` on, in natural order; it may be used only if nothing has to
// happen between two threads (no checks, no permuted order).
struct CotangentLaunch {
  CotangentDim grid;
  CotangentDim block;
  uint64_t shared_bytes;
  void* stream;
  const void* function;
  void* closure;
  // Makes `block_index` the current block of this OS thread; returns the address of its threadIdx.
  CotangentDim* (*enter_block)(const CotangentLaunch* launch, CotangentDim block_index);
  void (*leave_block)();
  void (*run_thread)(void* closure);
  void (*run_blocks)(void* closure, const CotangentLaunch* launch, uint64_t first, uint64_t count);
  CotangentSite site;
};

struct CotangentPointer {
  uint32_t kind;        // CotangentMemory, or ~0u for memory the runtime does not know
  uint32_t reserved;
  void* base;
  uint64_t bytes;
};

// Functions that return `int32_t` return a cudaError_t unless said otherwise.
struct CotangentApi {
  uint32_t version;
  uint32_t checking;  // 1 if the program's accesses are checked

  int32_t (*launch)(const CotangentLaunch* launch);
  void* (*dynamic_shared)();
  // Returns the count, or 0/1 for the and/or forms.
  int32_t (*barrier)(uint32_t kind, int32_t predicate, const char* file, uint32_t line);
  uint64_t (*collective)(uint32_t operation, uint32_t mask, uint64_t value, uint32_t argument,
                         uint32_t width, const char* file, uint32_t line);
  uint32_t (*active_mask)(const char* file, uint32_t line);
  // Ends the launch if a kernel thread runs here (and then does not return); returns on the host.
  void (*assert_failed)(const char* expression, const char* file, uint32_t line, const char* function);
  // Ends the launch; for `__trap()`. Returns on the host.
  void (*trap)(const char* file, uint32_t line);

  int32_t (*allocate)(void** pointer, uint64_t bytes, uint32_t memory, CotangentRequest request);
  int32_t (*release)(void* pointer, uint32_t memory, CotangentRequest request);
  // Rows of `width` bytes; a plain copy or fill is one row.
  int32_t (*copy)(void* to, uint64_t to_pitch, const void* from, uint64_t from_pitch, uint64_t width, uint64_t height,
                  uint32_t kind, CotangentRequest request);
  int32_t (*fill)(void* to, uint64_t pitch, int32_t value, uint64_t width, uint64_t height, CotangentRequest request);
  int32_t (*prefetch)(const void* pointer, uint64_t bytes, int32_t device, CotangentRequest request);
  // A `__device__`, `__constant__` or `__managed__` variable; telling it twice changes nothing.
  void (*symbol)(const void* address, uint64_t bytes, const char* name, uint32_t space);
  int32_t (*pointer)(CotangentPointer* result, const void* pointer);
  int32_t (*memory_info)(uint64_t* free_bytes, uint64_t* total_bytes);

  int32_t (*stream_create)(void** stream, uint32_t flags);
  int32_t (*stream_destroy)(void* stream);
  int32_t (*stream_synchronize)(void* stream);
  int32_t (*event_create)(void** event);
  int32_t (*event_destroy)(void* event);
  int32_t (*event_record)(void* event, void* stream);
  int32_t (*event_synchronize)(void* event);
  int32_t (*event_elapsed)(float* milliseconds, void* start, void* stop);
  int32_t (*device_synchronize)();
  int32_t (*stream_wait)(void* stream, void* event);
  // The stream calls a function of the host's when it has come so far.
  int32_t (*host_function)(void* stream, void (*function)(void*), void* data);
  int32_t (*function_shared_limit)(const void* function, int32_t bytes);

  // The last error of the calling host thread; `take` resets it unless it is sticky.
  int32_t (*peek_error)();
  int32_t (*take_error)();
  int32_t (*set_error)(int32_t error);
  const char* (*error_name)(int32_t error);
  const char* (*error_text)(int32_t error);

  // The program is about to be aborted, for this reason.
  void (*terminated)(const char* reason);

  // Checks. `pc` is the return address inside the instrumented program; `alignment` is what the
  // address must be a multiple of. A fatal finding in a kernel ends the launch, and the call then
  // does not return.
  void (*access)(const void* address, uint64_t bytes, uint32_t kind, uint32_t alignment, const void* pc);
  void (*access_copy)(const void* to, const void* from, uint64_t bytes, const void* pc);
  // The range that all allocations of a checked run lie in; empty otherwise.
  uint64_t device_begin;
  uint64_t device_bytes;
};

}  // extern "C"
