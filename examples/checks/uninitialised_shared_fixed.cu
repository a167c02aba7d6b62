// The histogram in shared memory starts at zero.
#include <cstdio>

__global__ void histogram(const unsigned char* bytes, unsigned* counts) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[bytes[threadIdx.x]], 1u);
  __syncthreads();
  counts[threadIdx.x] = bins[threadIdx.x];
}

int main() {
  unsigned char* bytes;
  unsigned* counts;
  cudaMalloc(&bytes, 256);
  cudaMalloc(&counts, 256 * sizeof(unsigned));
  cudaMemset(bytes, 3, 256);
  histogram<<<1, 256>>>(bytes, counts);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(bytes);
  cudaFree(counts);
}
