// What a kernel writes is a device variable.
#include <cstdio>

__device__ float coefficients[4];

__global__ void normalise(float* c) { c[threadIdx.x] *= 0.25f; }

int main() {
  const float values[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(coefficients, values, sizeof(values));
  void* address;
  cudaGetSymbolAddress(&address, coefficients);
  normalise<<<1, 4>>>(static_cast<float*>(address));
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
