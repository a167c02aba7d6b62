// A block reads what another block of the same launch writes; two launches are the correction.
// check
// exit: 66
// expect: done
// corrected: done
// stderr: error[X0205]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void shift(const int* in, int* out) { out[blockIdx.x] = in[(blockIdx.x + 1) % gridDim.x] + 1; }

int main() {
  int *a, *b;
  cudaMalloc(&a, 4 * sizeof(int));
  cudaMalloc(&b, 4 * sizeof(int));
  cudaMemset(a, 0, 4 * sizeof(int));
#ifdef CORRECTED
  ::cotangent::launch(shift, 4, 1)(a, b);
#else
  ::cotangent::launch(shift, 4, 1)(a, a);
#endif
  printf("done\n");
}
