// A failing assertion names the place, the block and the thread, ends the launch, and the error stays.
// expect: first 710 then 710
// stderr: assert_in_kernel.cpp:10: positive: block: [1,0,0], thread: [2,0,0] Assertion `values[i] > 0` failed.
#include <cotangent/cpu.hpp>
#include <assert.h>
#include <stdio.h>

__global__ void positive(const int* values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(values[i] > 0);
}

int main() {
  int values[8] = {1, 2, 3, 4, 5, 6, 0, 8};
  int first = ::cotangent::launch(positive, 2, 4)(values);
  int second = ::cotangent::launch(positive, 1, 4)(values);
  printf("first %d then %d\n", first, second);
}
