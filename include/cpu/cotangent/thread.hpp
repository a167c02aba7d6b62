// The current thread of a kernel, as CUDA's builtin variables and as a plain value.
//
// threadIdx and the others are variables of the OS thread that runs the block: a block runs wholly
// on one of them, and the runtime sets threadIdx whenever another thread of the block goes on.
#pragma once

#include <vector_types.h>

#include "cotangent/abi.h"

// Code of these headers that runs inside a kernel but is not the user's: its accesses are not
// reported to the checks.
#define COTANGENT_UNCHECKED __attribute__((disable_sanitizer_instrumentation))

// Thin wrappers are always inlined, so that an access in them is found in the user's function.
#define COTANGENT_INLINE inline __attribute__((always_inline))

// Hidden, so that the compiler can address all of them from one base.
#define COTANGENT_THREAD_LOCAL __attribute__((visibility("hidden"), tls_model("local-dynamic")))

extern __thread uint3 threadIdx COTANGENT_THREAD_LOCAL;
extern __thread uint3 blockIdx COTANGENT_THREAD_LOCAL;
extern __thread dim3 blockDim COTANGENT_THREAD_LOCAL;
extern __thread dim3 gridDim COTANGENT_THREAD_LOCAL;
static constexpr int warpSize = 32;

namespace cotangent {

// The runtime's functions; null until the program is attached.
extern const CotangentApi* api __attribute__((visibility("hidden")));

// Whether a kernel's thread runs on this OS thread now.
extern __thread bool in_kernel COTANGENT_THREAD_LOCAL;

// From the first to the last managed variable of the program; with checks the host's accesses there are looked at.
extern uint64_t managed_begin __attribute__((visibility("hidden")));
extern uint64_t managed_end __attribute__((visibility("hidden")));
void managed_variable(const volatile void* address, uint64_t bytes);

// The coordinates of a thread as a value, which printed code passes from function to function.
struct Thread {
  uint3 threadIdx;
  uint3 blockIdx;
  dim3 blockDim;
  dim3 gridDim;
};

// The thread that runs now.
COTANGENT_UNCHECKED inline Thread current_thread() {
  return Thread{::threadIdx, ::blockIdx, ::blockDim, ::gridDim};
}

// The dynamic shared memory of the block that runs on this OS thread; always at the same address.
COTANGENT_UNCHECKED inline void* dynamic_shared() { return api->dynamic_shared(); }

// How large it is.
extern __thread unsigned int dynamic_bytes COTANGENT_THREAD_LOCAL;
COTANGENT_UNCHECKED inline unsigned int dynamic_shared_bytes() { return dynamic_bytes; }

// Its argument. Clang knows a variable's alignment through casts and does not test the new type's, but not through calls.
template <class T>
COTANGENT_INLINE constexpr T* placed(T* pointer) {
  return pointer;
}
template <class T>
COTANGENT_INLINE constexpr T&& placed(T&& value) {
  return static_cast<T&&>(value);
}

// Where a call stands; used as a default argument, which is evaluated at the caller's place.
constexpr CotangentSite here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
  return CotangentSite{file, line};
}

// What the threads of the running block have added to one place, and the place has not received yet
// (`add_together`): one atomic operation a block, as on a GPU.
struct BlockSum {
  void* place;
  double sum;
  void (*receive)(void* place, double sum);
};
extern __thread BlockSum block_sum COTANGENT_THREAD_LOCAL;

// Before others may look: where a thread waits or orders its accesses, and at the end of the block.
COTANGENT_UNCHECKED inline void settle_block_sum() {
  if (block_sum.place != nullptr) {
    block_sum.receive(block_sum.place, block_sum.sum);
    block_sum.place = nullptr;
  }
}

// The stream that a program means: with this macro (--default-stream per-thread) no stream is the thread's own.
COTANGENT_UNCHECKED inline void* stream_of(void* stream) {
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
  return stream == nullptr ? reinterpret_cast<void*>(2) : stream;
#else
  return stream;
#endif
}

}  // namespace cotangent
