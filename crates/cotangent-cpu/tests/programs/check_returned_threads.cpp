// Threads that returned before a barrier are a note of their own, not an error.
// check
// expect: cudaSuccess
// corrected: cudaSuccess
// stderr: note[X0303]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void early(int n, int* out) {
  int t = threadIdx.x;
#ifdef CORRECTED
  if (t < n) out[t] = t;
  __syncthreads();
#else
  if (t >= n) return;
  out[t] = t;
  __syncthreads();
#endif
}

int main() {
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  ::cotangent::launch(early, 1, 64)(40, out);
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
