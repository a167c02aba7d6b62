// A kernel that a GPU stops: the error comes with the call that waits for it.
#include <cuda_runtime.h>

__global__ void misaligned(float4* x) { *x = make_float4(1, 2, 3, 4); }

int main() {
  char* x;
  if (cudaMalloc(&x, 64) != cudaSuccess) return 1;
  misaligned<<<1, 1>>>((float4*)(x + 4));
  if (cudaGetLastError() != cudaSuccess) return 2;
  if (cudaDeviceSynchronize() != cudaErrorMisalignedAddress) return 3;
  if (cudaGetLastError() != cudaErrorMisalignedAddress) return 4;
  return cudaFree(x) == cudaErrorMisalignedAddress ? 0 : 5;
}
