// A write one past the end of device memory ends the launch; the error stays.
// check
// exit: 66
// expect: cudaErrorIllegalAddress
// corrected: cudaSuccess
// stderr: error[X0101]
// stderr: check_out_of_bounds.cpp:18
// stderr: `values`
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void fill(int n, float* values) {
  int i = threadIdx.x;
#ifdef CORRECTED
  if (i < n) values[i] = i;
#else
  if (i <= n) values[i] = i;
#endif
}

int main() {
  float* values;
  cudaMalloc(&values, 100 * sizeof(float));
  ::cotangent::launch(fill, 1, 128)(100, values);
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
