// Launches outside of the device's limits do not run, and say so through cudaGetLastError.
// expect: 1025 threads: invalid configuration argument
// expect: no threads: invalid configuration argument
// expect: deep block: invalid configuration argument
// expect: tall grid: invalid configuration argument
// expect: shared memory: invalid argument
// expect: after asking for it: no error
// expect: more than there is: invalid argument
// expect: ran 1
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void count(int* runs) { ++*runs; }

static void show(const char* what) { printf("%s: %s\n", what, cudaGetErrorString(cudaGetLastError())); }

int main() {
  int* runs;
  cudaMallocManaged(&runs, sizeof(int));
  *runs = 0;
  ::cotangent::launch(count, 1, 1025)(runs), show("1025 threads");
  ::cotangent::launch(count, 1, 0)(runs), show("no threads");
  ::cotangent::launch(count, 1, dim3(1, 1, 65))(runs), show("deep block");
  ::cotangent::launch(count, dim3(1, 65536), 1)(runs), show("tall grid");
  ::cotangent::launch(count, 1, 1, 100000)(runs), show("shared memory");
  cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  ::cotangent::launch(count, 1, 1, 100000)(runs), show("after asking for it");
  cudaFuncSetAttribute(count, cudaFuncAttributeMaxDynamicSharedMemorySize, 300000), show("more than there is");
  printf("ran %d\n", *runs);
}
