// One barrier for all, between the branches.
#include <cstdio>

__global__ void exchange(int* values) {
  __shared__ int half[32];
  int t = threadIdx.x;
  if (t < 32) half[t] = values[t];
  __syncthreads();
  int sent = t < 32 ? values[t] : half[t - 32];
  values[t] = sent;
}

int main() {
  int* values;
  cudaMalloc(&values, 64 * sizeof(int));
  cudaMemset(values, 0, 64 * sizeof(int));
  exchange<<<1, 64>>>(values);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
}
