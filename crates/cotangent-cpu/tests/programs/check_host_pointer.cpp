// A host array given to a kernel.
// check
// exit: 66
// expect: cudaErrorIllegalAddress
// corrected: cudaSuccess
// stderr: error[X0103]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void twice(int* values) { values[threadIdx.x] *= 2; }

int main() {
  int host[4] = {1, 2, 3, 4}, *device;
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
#ifdef CORRECTED
  ::cotangent::launch(twice, 1, 4)(device);
#else
  ::cotangent::launch(twice, 1, 4)(host);
#endif
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
