// A tile without room for the neighbours at its ends.
// expect: X0101 line 10
#include <cstdio>

__global__ void smooth(const float* from, float* to, int n) {
  __shared__ float tile[64];
  int t = threadIdx.x;
  tile[t] = from[t];
  __syncthreads();
  float right = tile[t + 1];
  to[t] = 0.5f * (tile[t] + right);
}

int main() {
  float *from, *to;
  cudaMalloc(&from, 64 * sizeof(float));
  cudaMalloc(&to, 64 * sizeof(float));
  cudaMemset(from, 0, 64 * sizeof(float));
  smooth<<<1, 64>>>(from, to, 64);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(from);
  cudaFree(to);
}
