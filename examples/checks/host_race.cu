// The host reads managed memory while the kernel may still be writing it.
// expect: X0207 line 5, line 11
#include <cstdio>

__global__ void square(float* x) { x[threadIdx.x] *= x[threadIdx.x]; }

int main() {
  float* x;
  cudaMallocManaged(&x, 32 * sizeof(float));
  for (int i = 0; i < 32; ++i) x[i] = i;
  square<<<1, 32>>>(x), printf("%g\n", x[3]);
  cudaDeviceSynchronize();
  cudaFree(x);
}
