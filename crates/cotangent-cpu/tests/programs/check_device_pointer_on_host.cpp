// The host reads device memory directly; the program goes on.
// check
// exit: 66
// expect: done
// corrected: done
// stderr: error[X0104]
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void set(int* value) { *value = 7; }

int main() {
  int *value, host = 0;
  cudaMalloc(&value, sizeof(int));
  ::cotangent::launch(set, 1, 1)(value);
#ifdef CORRECTED
  cudaMemcpy(&host, value, sizeof(int), cudaMemcpyDeviceToHost);
#else
  host = *value;
#endif
  printf("%s\n", host == 7 ? "done" : "wrong");
}
