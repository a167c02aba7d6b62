// A barrier stands between the writes and the reads of the neighbours.
#include <cstdio>

__global__ void shift(const int* from, int* to) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = tile[(threadIdx.x + blockDim.x - 1) % blockDim.x];
}

int main() {
  int *from, *to;
  cudaMalloc(&from, 64 * sizeof(int));
  cudaMalloc(&to, 64 * sizeof(int));
  cudaMemset(from, 0, 64 * sizeof(int));
  shift<<<1, 64, 64 * sizeof(int)>>>(from, to);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(from);
  cudaFree(to);
}
