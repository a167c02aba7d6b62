// Live threads at different barriers, in a checked run.
// check
// exit: 66
// expect: cudaErrorLaunchFailure
// corrected: cudaSuccess
// stderr: error[X0301]
// stderr: check_divergent_barrier.cpp:16
// stderr: check_divergent_barrier.cpp:18
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void diverge() {
#ifndef CORRECTED
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncthreads();
  }
#else
  __syncthreads();
#endif
}

int main() {
  ::cotangent::launch(diverge, 1, 32)();
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
