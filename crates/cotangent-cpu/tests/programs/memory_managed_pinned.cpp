// Managed memory is read by both sides, pinned memory is freed by its own function.
// expect: 5 cudaMemoryTypeManaged 3
// expect: 1 1
// expect: 0 2
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void set(int* value) { *value += 4; }

int main() {
  int *managed, *pinned, *device;
  cudaMallocManaged(&managed, sizeof(int));
  *managed = 1;
  ::cotangent::launch(set, 1, 1)(managed);
  cudaPointerAttributes attributes;
  cudaPointerGetAttributes(&attributes, managed);
  printf("%d cudaMemoryTypeManaged %d\n", *managed, attributes.type);
  cudaMallocHost(&pinned, sizeof(int));
  cudaPointerGetAttributes(&attributes, pinned);
  printf("%d %d\n", attributes.type, cudaFree(pinned));
  cudaMallocAsync(&device, sizeof(int), 0);
  cudaPointerGetAttributes(&attributes, device);
  printf("%d %d\n", cudaFreeHost(pinned), attributes.type);
  cudaFreeAsync(device, 0), cudaFree(managed);
}
