// A kernel that writes to memory after cudaFree.
// check
// exit: 66
// expect: cudaErrorIllegalAddress
// corrected: cudaSuccess
// stderr: error[X0102]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void set(int* value) { *value = 1; }

int main() {
  int* value;
  cudaMalloc(&value, sizeof(int));
#ifdef CORRECTED
  ::cotangent::launch(set, 1, 1)(value);
  cudaFree(value);
#else
  cudaFree(value);
  ::cotangent::launch(set, 1, 1)(value);
#endif
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
