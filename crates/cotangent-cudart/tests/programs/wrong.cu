// A copy that is longer than the memory.
#include <cuda_runtime.h>

int main() {
  int value[3] = {};
  int* memory;
  cudaMalloc(&memory, 2 * sizeof(int));
  cudaMemcpy(memory, value, 3 * sizeof(int), cudaMemcpyHostToDevice);
  return 0;
}
