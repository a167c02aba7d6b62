// A tree reduction without the barrier between its steps.
// check
// exit: 66
// expect: done
// corrected: done
// stderr: error[X0202]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void sum(int* out) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  tile[t] = t;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
#ifdef CORRECTED
    __syncthreads();
#endif
  }
  if (t == 0) *out = tile[0];
}

int main() {
  int* out;
  cudaMalloc(&out, sizeof(int));
  ::cotangent::launch(sum, 1, 64)(out);
  printf("done\n");
}
