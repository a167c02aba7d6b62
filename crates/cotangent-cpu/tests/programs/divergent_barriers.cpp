// Live threads at different barriers end the launch with an error instead of hanging.
// exit: 66
// expect: unspecified 719
// stderr: divergent_barriers.cpp:13: __syncthreads
// stderr: divergent_barriers.cpp:15: __syncthreads
// stderr: in block (0,0,0) of the launch at
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void diverge(int* out) {
  if (threadIdx.x < 16) {
    out[threadIdx.x] = 1;
    __syncthreads();
  } else {
    __syncthreads();
  }
}

int main() {
  int out[32];
  int error = ::cotangent::launch(diverge, 1, 32)(out);
  printf("unspecified %d\n", error);
}
