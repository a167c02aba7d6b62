// The last block is not full, and nothing keeps its threads inside the array.
// expect: X0101 line 7
#include <cstdio>

__global__ void square(float* values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = values[i] * values[i];
}

int main() {
  const int n = 100;
  float* values;
  cudaMalloc(&values, n * sizeof(float));
  cudaMemset(values, 0, n * sizeof(float));
  square<<<(n + 31) / 32, 32>>>(values);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
}
