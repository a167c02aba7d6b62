// The sums begin at zero.
#include <cstdio>

__global__ void add(const float* x, float* sums) {
  sums[threadIdx.x] += x[threadIdx.x];
}

int main() {
  float *x, *sums;
  cudaMalloc(&x, 64 * sizeof(float));
  cudaMalloc(&sums, 64 * sizeof(float));
  cudaMemset(x, 0, 64 * sizeof(float));
  cudaMemset(sums, 0, 64 * sizeof(float));
  add<<<1, 64>>>(x, sums);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(x);
  cudaFree(sums);
}
