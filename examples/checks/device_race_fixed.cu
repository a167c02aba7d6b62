// All threads of a block add to one number, atomically.
#include <cstdio>

__global__ void total(const float* values, float* sum) {
  atomicAdd(sum, values[threadIdx.x]);
}

int main() {
  float *values, *sum;
  cudaMalloc(&values, 64 * sizeof(float));
  cudaMalloc(&sum, sizeof(float));
  for (int i = 0; i < 64; i++) cudaMemset(values + i, i + 1, sizeof(float));
  cudaMemset(sum, 0, sizeof(float));
  total<<<1, 64>>>(values, sum);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
  cudaFree(sum);
}
