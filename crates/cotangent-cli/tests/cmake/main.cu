// Asks for nothing itself.
#include <cstdio>

#include "springs.cuh"

int main() {
  float* x = nullptr;
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("no device");
    return 0;
  }
  cudaMalloc(&x, 101 * sizeof(float));
  lengths<<<1, 128>>>(x, x, 0);
  forces(x, 1, x, x, 0, x);
  fit(x, 1, x, x, 0, x, x);
  cudaFree(x);
}
