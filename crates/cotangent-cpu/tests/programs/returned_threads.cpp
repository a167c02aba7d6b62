// A thread that has returned counts as arrived at every later barrier.
// expect: 10
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void early(int n, int* out) {
  __shared__ int sum;
  int t = threadIdx.x;
  if (t == 0) sum = 0;
  __syncthreads();
  if (t >= n) return;
  atomicAdd(&sum, t);
  __syncthreads();
  if (t == 0) *out = sum;
}

int main() {
  int out = 0;
  ::cotangent::launch(early, 1, 64)(5, &out);
  printf("%d\n", out);
}
