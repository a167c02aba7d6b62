// The last block is not full; a guard keeps its threads inside the array.
#include <cstdio>

__global__ void square(float* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] = values[i] * values[i];
}

int main() {
  const int n = 100;
  float* values;
  cudaMalloc(&values, n * sizeof(float));
  cudaMemset(values, 0, n * sizeof(float));
  square<<<(n + 31) / 32, 32>>>(values, n);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
}
