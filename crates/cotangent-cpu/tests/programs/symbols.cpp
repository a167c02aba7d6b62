// Constant and device variables, with offsets; one is filled by a static constructor.
// expect: 3 5 7 9
// expect: 11 16
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

namespace table {
__constant__ int factors[4];
}
__device__ int total;
static struct Early {
  Early() {
    int start = 1;
    cudaMemcpyToSymbol(total, &start, sizeof start);
  }
} early;

__global__ void apply(int* out) {
  out[threadIdx.x] = table::factors[threadIdx.x] * 2 + total;
  if (threadIdx.x == 3) total += 10;
}

static ::cotangent::Symbol _cotangent_symbol_0(&table::factors, sizeof(table::factors), "table::factors");
static ::cotangent::Symbol _cotangent_symbol_1(&total, sizeof(total), "total");

int main() {
  int ones[4] = {1, 1, 1, 1}, rest[3] = {2, 3, 4}, out[4], *device, read;
  cudaMalloc(&device, sizeof out);
  cudaMemcpyToSymbol(table::factors, ones, sizeof ones);
  cudaMemcpyToSymbol(table::factors, rest, sizeof rest, sizeof(int));
  ::cotangent::launch(apply, 1, 4)(device);
  cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost);
  printf("%d %d %d %d\n", out[0], out[1], out[2], out[3]);
  cudaMemcpyFromSymbol(&read, total, sizeof read);
  size_t size;
  cudaGetSymbolSize(&size, table::factors);
  printf("%d %zu\n", read, size);
}
