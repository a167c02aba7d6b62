// The weights are freed after the last launch that uses them.
#include <cstdio>

__global__ void scale(const float* weights, float* values) {
  values[threadIdx.x] *= weights[threadIdx.x];
}

int main() {
  const int n = 64;
  float *weights, *values;
  cudaMalloc(&weights, n * sizeof(float));
  cudaMalloc(&values, n * sizeof(float));
  cudaMemset(weights, 0, n * sizeof(float));
  cudaMemset(values, 0, n * sizeof(float));
  scale<<<1, n>>>(weights, values);
  scale<<<1, n>>>(weights, values);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(weights);
  cudaFree(values);
}
