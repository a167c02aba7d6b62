// Neighbours are read while other threads may still be writing them.
// expect: X0202 line 8, line 9
// expect: X0201 line 9
#include <cstdio>

__global__ void shift(const int* from, int* to) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = from[threadIdx.x];
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
