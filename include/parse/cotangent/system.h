// What device code takes from the C library, and the builtin variables.
//
// This file precedes every C++ header: Clang's CUDA form of <new> defines the
// device's operator new through malloc and free.
#pragma once

#include <stddef.h>
#include <string.h>
#include <time.h>

#include "host_defines.h"
#include "vector_types.h"

extern "C" {
__device__ void* malloc(size_t size) noexcept;
__device__ void free(void* pointer) noexcept;
__device__ void* memcpy(void* to, const void* from, size_t size) noexcept;
__device__ void* memmove(void* to, const void* from, size_t size) noexcept;
__device__ void* memset(void* to, int byte, size_t size) noexcept;
__device__ int printf(const char* format, ...);

// The device's own, beside the host's in <time.h>.
__device__ clock_t clock();

// The host's, as the C library declares them.
void* malloc(size_t size) noexcept;
void free(void* pointer) noexcept;
int printf(const char* format, ...);

// What the C library's assert calls.
__device__ void __assert_fail(const char* condition, const char* file, unsigned int line,
                              const char* function) noexcept;
}

namespace std {
using ::free;
using ::malloc;
using ::memcpy;
using ::memmove;
using ::memset;
using ::printf;
}  // namespace std

extern const __device__ uint3 threadIdx;
extern const __device__ uint3 blockIdx;
extern const __device__ dim3 blockDim;
extern const __device__ dim3 gridDim;
extern const __device__ int warpSize;
