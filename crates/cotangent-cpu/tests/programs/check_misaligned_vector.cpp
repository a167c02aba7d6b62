// The members of a vector of sixteen bytes at an address that is a multiple of eight: read one by one, or by one load.
// check
// exit: 66
// expect: cudaErrorIllegalAddress
// corrected: cudaSuccess
// stderr: error[X0107]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void sum(float* values) {
#ifdef CORRECTED
  const float4* vector = reinterpret_cast<float4*>(values + 4);
#else
  const float4* vector = reinterpret_cast<float4*>(values + 2);
#endif
  values[0] = vector->x + vector->y + vector->z + vector->w;
}

int main() {
  float* values;
  cudaMalloc(&values, 64);
  cudaMemset(values, 0, 64);
  ::cotangent::launch(sum, 1, 1)(values);
  puts(cudaGetErrorName(cudaDeviceSynchronize()));
}
