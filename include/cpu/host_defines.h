// CUDA's attribute macros, for execution on the CPU as plain C++. Parsing has
// a file of the same name that turns them into Clang's CUDA attributes.
#pragma once

#include "cotangent/version.h"

// Tells headers that serve GPUs too that this is no GPU.
#define COTANGENT_CPU 1

#define __host__
#define __device__
#define __global__
#define __constant__
#define __managed__

// A block runs wholly on one thread of the operating system, so one copy for
// each of those is one copy for each block. The section tells the runtime
// which thread-local variables are shared memory.
#define __shared__ static thread_local __attribute__((section("cotangent_shared")))

// Behind the name of an array whose elements have this type. For long arrays Clang would choose 16 bytes, and a GPU
// does not: a wider access is to be found where the program is checked.
#if __has_feature(thread_sanitizer)
#define COTANGENT_DECLARED_ALIGNMENT(...) [[gnu::aligned(alignof(__VA_ARGS__))]]
#else
#define COTANGENT_DECLARED_ALIGNMENT(...)
#endif

#define __launch_bounds__(...)
#define __grid_constant__

// Empty, because libstdc++ writes __attribute__((__noinline__)) and an empty
// attribute list is the only expansion that is valid there as well.
#define __noinline__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __cudart_builtin__
#define __thread__ __thread
#define __nv_pure__ __attribute__((pure))
#define CUDARTAPI
#define CUDART_CB
