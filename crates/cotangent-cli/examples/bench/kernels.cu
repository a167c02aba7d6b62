// The kernels that the benchmark prints and measures, and, by its includes, the file whose reading it measures.
#include <cmath>
#include <iostream>
#include <vector>

__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a * x[i] + y[i];
  }
}

__global__ void barriers(int rounds, int* out) {
  int value = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    value += round;
  }
  out[threadIdx.x] = value;
}

__global__ void shuffles(int rounds, int* out) {
  int value = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    value += __shfl_xor_sync(0xffffffffu, value, 1);
  }
  out[threadIdx.x] = value;
}
