// Device properties, attributes, occupancy, and a launch from a list of arguments.
// expect: 1 0 1024 32
// expect: 9 232448 101
// expect: 1024 2 8
// expect: 42
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void add(int a, int* out) { *out += a; }

int main() {
  int count, device, major, blocks, grid, block, a = 40;
  cudaDeviceProp properties;
  cudaGetDeviceCount(&count), cudaGetDevice(&device);
  cudaGetDeviceProperties(&properties, 0);
  printf("%d %d %d %d\n", count, device, properties.maxThreadsPerBlock, properties.warpSize);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
  printf("%d %zu %d\n", major, properties.sharedMemPerBlockOptin, cudaSetDevice(1));
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, add);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0);
  printf("%d %d %d\n", block, grid, blocks);
  int* out;
  cudaMallocManaged(&out, sizeof(int));
  *out = 2;
  void* arguments[] = {&a, &out};
  cudaLaunchKernel(add, dim3(1), dim3(1), arguments);
  printf("%d\n", *out);
}
