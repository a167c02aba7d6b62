// The list was never given its memory.
// expect: X0108 line 11
#include <cstdio>

struct List {
  int* items;
  int count;
};

__global__ void number(List list) {
  if (threadIdx.x < list.count) list.items[threadIdx.x] = threadIdx.x;
}

int main() {
  List list = {nullptr, 20};
  number<<<1, 32>>>(list);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
