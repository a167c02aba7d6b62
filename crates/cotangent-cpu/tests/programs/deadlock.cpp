// A lane that waits for the others in a shuffle while they wait at a barrier: reported, not hung.
// exit: 66
// expect: error 719
// stderr: deadlock.cpp:12: __shfl_sync (thread (0,0,0))
// stderr: deadlock.cpp:14: __syncthreads (thread (1,0,0) and 30 more)
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void wait(int* out) {
  int lane = threadIdx.x;
  if (lane == 0) {
    *out = __shfl_sync(0xffffffffu, lane, 5);
  } else {
    __syncthreads();
  }
}

int main() {
  int out;
  printf("error %d\n", ::cotangent::launch(wait, 1, 32)(&out));
}
