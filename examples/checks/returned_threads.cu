// Threads beyond the end return, and the others meet at a barrier without them. That works, and is only noted.
// note: X0303 line 10
#include <cstdio>

__global__ void reverse(int* values, int n) {
  __shared__ int tile[64];
  int t = threadIdx.x;
  if (t >= n) return;
  tile[t] = values[t];
  __syncthreads();
  values[t] = tile[n - 1 - t];
}

int main() {
  int* values;
  cudaMalloc(&values, 50 * sizeof(int));
  cudaMemset(values, 0, 50 * sizeof(int));
  reverse<<<1, 64>>>(values, 50);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
}
