// A seed changes the order of threads and blocks; the natural order would be 0 1 2 3 4 5 6 7.
// seed: 3
// expect: permuted, all there
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void note(int* order, int* next) { order[(*next)++] = blockIdx.x * blockDim.x + threadIdx.x; }

int main() {
  int order[16], next = 0, seen = 0;
  ::cotangent::launch(note, 2, 8)(order, &next);
  bool natural = true;
  for (int i = 0; i < 16; ++i) natural &= order[i] == i, seen |= 1 << order[i];
  printf("%s, %s\n", natural ? "natural" : "permuted", seen == 0xffff ? "all there" : "some missing");
}
