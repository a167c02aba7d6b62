// Memory freed twice.
// check
// exit: 66
// expect: cudaErrorInvalidValue
// corrected: cudaSuccess
// stderr: error[X0105]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

int main() {
  int* value;
  cudaMalloc(&value, sizeof(int));
  cudaFree(value);
#ifndef CORRECTED
  cudaFree(value);
#endif
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
