// The host waits for the kernel before it touches the variable.
#include <cstdio>

__managed__ int counts[32];

__global__ void count(int n) { counts[threadIdx.x] += n; }

int main() {
  count<<<1, 32>>>(3);
  cudaDeviceSynchronize();
  counts[0] = 1;
  std::printf("%d\n", counts[0]);
}
