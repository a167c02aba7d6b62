// The end of a launch stands between the writes and the reads of other blocks.
#include <cstdio>

__global__ void fill(float* values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = 2.0f * i;
}

__global__ void smooth(const float* values, float* result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float right = values[(i + 1) % n];
  result[i] = 0.5f * (values[i] + right);
}

int main() {
  float *values, *result;
  cudaMalloc(&values, 128 * sizeof(float));
  cudaMalloc(&result, 128 * sizeof(float));
  fill<<<4, 32>>>(values);
  smooth<<<4, 32>>>(values, result, 128);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
  cudaFree(result);
}
