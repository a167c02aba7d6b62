// CUDA's attribute macros, for parsing: each becomes the attribute by which
// Clang knows it. The CPU has a file of the same name that turns them into
// plain C++.
#pragma once

#include "cotangent/version.h"

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))

// Clang knows managed variables only in HIP. To its rules one is a device
// variable, which host code may name as well; the annotation tells it apart.
#define __managed__ __attribute__((device)) __attribute__((annotate("cotangent::managed")))

#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

// A promise that a kernel parameter is only read. The parameter must be const
// already, so leaving it out changes no meaning.
#define __grid_constant__ __attribute__((annotate("cotangent::grid_constant")))

// __noinline__ is a keyword of Clang's CUDA and must not become a macro.
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __device_builtin__
#define __cudart_builtin__
#define __thread__ __thread
#define __nv_pure__ __attribute__((pure))
#define CUDARTAPI
#define CUDART_CB
