// Shared memory that no thread of the block has written is read, though an earlier block wrote it.
// check
// exit: 66
// expect: done
// corrected: done
// stderr: error[X0201]
// stderr: check_uninitialised_shared.cpp:20
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void sum(int* out) {
  __shared__ int partial[32];
#ifdef CORRECTED
  partial[threadIdx.x] = 1;
#else
  if (blockIdx.x == 0) partial[threadIdx.x] = 1;
#endif
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = partial[31 - threadIdx.x];
}

int main() {
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  ::cotangent::launch(sum, 2, 32)(out);
  printf("done\n");
}
