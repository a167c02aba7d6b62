// A number of eight bytes at an address that is a multiple of four: a GPU stops there.
// check
// exit: 66
// expect: cudaErrorIllegalAddress
// corrected: cudaSuccess
// stderr: error[X0107]: write of 8 bytes at address
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void store(float* values) {
#ifdef CORRECTED
  double* wide = reinterpret_cast<double*>(values + 2);
#else
  double* wide = reinterpret_cast<double*>(values + 1);
#endif
  *wide = 1.0;
}

int main() {
  float* values;
  cudaMalloc(&values, 64);
  ::cotangent::launch(store, 1, 1)(values);
  puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
