// Two threads of a block write one element; an atomic is the correction.
// check
// exit: 66
// expect: done
// corrected: done
// stderr: error[X0203]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void count(int* total) {
#ifdef CORRECTED
  atomicAdd(total, 1);
#else
  *total += 1;
#endif
}

int main() {
  int* total;
  cudaMalloc(&total, sizeof(int));
  cudaMemset(total, 0, sizeof(int));
  ::cotangent::launch(count, 1, 8)(total);
  printf("done\n");
}
