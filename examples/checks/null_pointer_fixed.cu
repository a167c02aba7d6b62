// The list has its memory before it is given to the kernel.
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
  cudaMalloc(&list.items, list.count * sizeof(int));
  number<<<1, 32>>>(list);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(list.items);
}
