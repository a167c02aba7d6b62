// A program that calls exit itself: findings are still reported, and its own exit code is kept.
// check
// exit: 3
// stderr: error[X0108]
#include <cuda_runtime.h>
#include <stdlib.h>

__global__ void set(int* value) { *value = 1; }

int main() {
  ::cotangent::launch(set, 1, 1)(nullptr);
  exit(cudaGetLastError() == cudaErrorIllegalAddress ? 3 : 4);
}
