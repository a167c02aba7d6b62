// Both branches have a barrier, but not the same one.
// expect: X0301 line 11, line 14
#include <cstdio>

__global__ void exchange(int* values) {
  __shared__ int half[32];
  int t = threadIdx.x;
  int sent = 0;
  if (t < 32) {
    half[t] = values[t];
    __syncthreads();
    sent = values[t];
  } else {
    __syncthreads();
    sent = half[t - 32];
  }
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
