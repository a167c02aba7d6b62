// The kernel is given a copy of the vector in device memory.
#include <cstdio>
#include <vector>

__global__ void negate(float* values, int n) {
  if (threadIdx.x < n) values[threadIdx.x] = -values[threadIdx.x];
}

int main() {
  std::vector<float> values(50, 1.0f);
  float* device;
  cudaMalloc(&device, values.size() * sizeof(float));
  cudaMemcpy(device, values.data(), values.size() * sizeof(float), cudaMemcpyHostToDevice);
  negate<<<1, 64>>>(device, 50);
  cudaMemcpy(values.data(), device, values.size() * sizeof(float), cudaMemcpyDeviceToHost);
  std::printf("%g\n", values[49]);
  cudaFree(device);
}
