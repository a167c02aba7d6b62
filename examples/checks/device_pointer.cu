// The host reads device memory as if it were its own.
// expect: X0104 line 13
#include <cstdio>

__global__ void count(int* counter) { atomicAdd(counter, 1); }

int main() {
  int* counter;
  cudaMalloc(&counter, sizeof(int));
  cudaMemset(counter, 0, sizeof(int));
  count<<<4, 32>>>(counter);
  cudaDeviceSynchronize();
  std::printf("%d\n", *counter);
  cudaFree(counter);
}
