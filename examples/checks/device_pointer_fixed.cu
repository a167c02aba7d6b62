// The host copies the counter before it reads it.
#include <cstdio>

__global__ void count(int* counter) { atomicAdd(counter, 1); }

int main() {
  int *counter, counted;
  cudaMalloc(&counter, sizeof(int));
  cudaMemset(counter, 0, sizeof(int));
  count<<<4, 32>>>(counter);
  cudaMemcpy(&counted, counter, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d\n", counted);
  cudaFree(counter);
}
