// The second half of the kernel reads what other blocks write in its first half.
// expect: X0205 line 7, line 9
#include <cstdio>

__global__ void smooth(float* values, float* result, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = 2.0f * i;
  __syncthreads();
  float right = values[(i + 1) % n];
  result[i] = 0.5f * (values[i] + right);
}

int main() {
  float *values, *result;
  cudaMalloc(&values, 128 * sizeof(float));
  cudaMalloc(&result, 128 * sizeof(float));
  cudaMemset(values, 0, 128 * sizeof(float));
  smooth<<<4, 32>>>(values, result, 128);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
  cudaFree(result);
}
