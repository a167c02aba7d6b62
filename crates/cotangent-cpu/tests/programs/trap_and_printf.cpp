// printf in a kernel, and __trap, which ends the launch where it stands.
// expect: thread 0
// expect: thread 1
// expect: unspecified launch failure
// stderr: trap_and_printf.cpp:11: __trap (thread (2,0,0))
#include <cuda_runtime.h>

__global__ void speak(unsigned last) {
  if (threadIdx.x == last) {
    // The launch ends here.
    __trap();
  }
  printf("thread %d\n", threadIdx.x);
}

int main() {
  ::cotangent::launch(speak, 1, 4)(2);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
