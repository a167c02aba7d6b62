// A kernel with builtin variables, launched as a function: literals convert to its parameter types.
// expect: 0 1 2 3 4 5 6 7
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void fill(int* out, const float* unused, long n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (unused == nullptr && i < n) out[i] = i;
}

int main() {
  int out[8];
  ::cotangent::launch(fill, 3, 4)(out, 0, 8);
  for (int i = 0; i < 8; ++i) printf("%d%c", out[i], i < 7 ? ' ' : '\n');
}
