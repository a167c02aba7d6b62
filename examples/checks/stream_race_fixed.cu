// An event stands between the two streams.
#include <cstdio>

__global__ void fill(float* values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = 2.0f * i;
}

__global__ void smooth(const float* values, float* result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  result[i] = 0.5f * values[i];
}

int main() {
  float *values, *result;
  cudaMalloc(&values, 128 * sizeof(float));
  cudaMalloc(&result, 128 * sizeof(float));
  cudaStream_t left, right;
  cudaStreamCreate(&left);
  cudaStreamCreate(&right);
  cudaEvent_t filled;
  cudaEventCreate(&filled);
  fill<<<4, 32, 0, left>>>(values);
  cudaEventRecord(filled, left);
  cudaStreamWaitEvent(right, filled, 0);
  smooth<<<4, 32, 0, right>>>(values, result, 128);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaEventDestroy(filled);
  cudaStreamDestroy(left);
  cudaStreamDestroy(right);
  cudaFree(values);
  cudaFree(result);
}
