// The host sets a managed variable while the kernel may still be counting in it.
// expect: X0207 line 7, line 11
#include <cstdio>

__managed__ int counts[32];

__global__ void count(int n) { counts[threadIdx.x] += n; }

int main() {
  count<<<1, 32>>>(3);
  counts[0] = 1;
  cudaDeviceSynchronize();
  std::printf("%d\n", counts[0]);
}
