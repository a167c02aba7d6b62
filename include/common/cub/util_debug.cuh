// CUB's macros around calls that may fail.
#pragma once

#include <cstdio>
#include <cstdlib>

#include "cuda_runtime.h"

namespace cub {

inline cudaError_t Debug(cudaError_t error, const char* file, int line) {
  if (error != cudaSuccess) fprintf(stderr, "CUDA error %d [%s, %d]: %s\n", error, file, line, cudaGetErrorString(error));
  return error;
}

}  // namespace cub

#define CubDebug(call) cub::Debug(static_cast<cudaError_t>(call), __FILE__, __LINE__)
#define CubDebugExit(call)                                                       \
  if (cub::Debug(static_cast<cudaError_t>(call), __FILE__, __LINE__)) exit(1)
