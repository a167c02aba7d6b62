// As host_race.cu, but the host waits first.
#include <cstdio>

__global__ void square(float* x) { x[threadIdx.x] *= x[threadIdx.x]; }

int main() {
  float* x;
  cudaMallocManaged(&x, 32 * sizeof(float));
  for (int i = 0; i < 32; ++i) x[i] = i;
  square<<<1, 32>>>(x);
  cudaDeviceSynchronize();
  printf("%g\n", x[3]);
  cudaFree(x);
}
