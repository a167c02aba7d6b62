// The counting barriers, one after another, in a block that is no multiple of a warp.
// expect: 15 0 1 1
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void vote(int* out) {
  int t = threadIdx.x;
  int count = __syncthreads_count(t % 3 == 0);
  int all = __syncthreads_and(t < 44);
  int all_true = __syncthreads_and(t < 45);
  int any = __syncthreads_or(t == 44);
  if (t == 7) out[0] = count, out[1] = all, out[2] = all_true, out[3] = any;
}

int main() {
  int out[4];
  ::cotangent::launch(vote, 1, 45)(out);
  printf("%d %d %d %d\n", out[0], out[1], out[2], out[3]);
}
