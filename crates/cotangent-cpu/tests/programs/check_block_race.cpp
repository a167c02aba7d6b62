// Two blocks write the same element.
// check
// exit: 66
// expect: done
// corrected: done
// stderr: error[X0204]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void set(int* out) {
#ifdef CORRECTED
  if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
#else
  if (threadIdx.x == 0) out[0] = blockIdx.x;
#endif
}

int main() {
  int* out;
  cudaMalloc(&out, 4 * sizeof(int));
  ::cotangent::launch(set, 4, 8)(out);
  printf("done\n");
}
