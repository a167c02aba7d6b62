// Half of the lanes that a mask names never come.
// check
// exit: 66
// expect: cudaErrorLaunchFailure
// corrected: cudaSuccess
// stderr: error[X0302]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void half(int* out) {
  int lane = threadIdx.x;
  if (lane < 16) {
#ifdef CORRECTED
    out[lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
#else
    out[lane] = __shfl_xor_sync(0xffffffffu, lane, 1);
#endif
  }
  __syncthreads();
  if (lane == 31) out[lane] = 0;
}

int main() {
  int* out;
  cudaMalloc(&out, 32 * sizeof(int));
  ::cotangent::launch(half, 1, 32)(out);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
