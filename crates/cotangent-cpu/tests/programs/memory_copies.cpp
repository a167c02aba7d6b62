// Allocation and copies of every kind, in the plain, Async and 2D forms.
// expect: 0 2 4 6
// expect: 0 2 4 6
// expect: -1 -1
// expect: 2 3 6 7
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void twice(int* values) { values[threadIdx.x] *= 2; }

int main() {
  int host[4] = {0, 1, 2, 3}, back[4] = {}, *device, *other;
  cudaMalloc(&device, sizeof host);
  cudaMalloc((void**)&other, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  ::cotangent::launch(twice, 1, 4)(device);
  cudaMemcpy(other, device, sizeof host, cudaMemcpyDeviceToDevice);
  cudaMemcpyAsync(back, other, sizeof host, cudaMemcpyDeviceToHost, 0);
  printf("%d %d %d %d\n", back[0], back[1], back[2], back[3]);
  int guessed[4];
  cudaMemcpy(guessed, device, sizeof host, cudaMemcpyDefault);
  printf("%d %d %d %d\n", guessed[0], guessed[1], guessed[2], guessed[3]);
  cudaMemset(device, 0xff, 2 * sizeof(int));
  cudaMemcpy(back, device, 2 * sizeof(int), cudaMemcpyDeviceToHost);
  printf("%d %d\n", back[0], back[1]);

  int grid[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, inner[2][2];
  int* pitched;
  size_t pitch;
  cudaMallocPitch(&pitched, &pitch, sizeof grid[0], 2);
  cudaMemcpy2D(pitched, pitch, grid, sizeof grid[0], sizeof grid[0], 2, cudaMemcpyHostToDevice);
  cudaMemcpy2D(inner, sizeof inner[0], pitched + 1, pitch, sizeof inner[0], 2, cudaMemcpyDeviceToHost);
  printf("%d %d %d %d\n", inner[0][0], inner[0][1], inner[1][0], inner[1][1]);
  cudaFree(device), cudaFree(other), cudaFree(pitched);
}
