// The maximum of all blocks is an atomic.
#include <cstdio>

__global__ void largest(const int* values, int* result) {
  int best = 0;
  for (int i = 0; i < 32; i++) best = max(best, values[blockIdx.x * 32 + i]);
  if (best > 0) atomicMax(result, best);
}

int main() {
  int *values, *result;
  cudaMalloc(&values, 128 * sizeof(int));
  cudaMalloc(&result, sizeof(int));
  for (int i = 0; i < 128; i++) cudaMemset(values + i, i % 100, sizeof(int));
  cudaMemset(result, 0, sizeof(int));
  largest<<<4, 1>>>(values, result);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
  cudaFree(result);
}
