// A kernel and a variable that exist only for one machine: nothing of them can be used, and everything else can.
#include <cstdio>

__device__ int variable = 1;
__global__ void kernel(int* result) { *result = variable; }

int main() {
  int* result;
  int value = 0;
  if (cudaMalloc(&result, sizeof(int)) != cudaSuccess) return 1;
  for (int time = 0; time < 2; ++time) {
    kernel<<<1, 1>>>(result);
    if (cudaGetLastError() != cudaErrorNoKernelImageForDevice) return 2;
    if (cudaMemcpyFromSymbol(&value, variable, sizeof(int)) != cudaErrorNoKernelImageForDevice) return 3;
    cudaGetLastError();
  }
  if (cudaMemcpyFromSymbol(&value, value, sizeof(int)) != cudaErrorInvalidSymbol) return 4;
  cudaGetLastError();
  return cudaFree(result) == cudaSuccess ? 0 : 5;
}
