// Any thread may raise a flag: threads of a block do it, and other blocks. All store the same, and it is only noted.
// note: X0210 line 11, line 11
// note: X0210 line 12, line 12
#include <cstdio>

__global__ void search(const int* values, int* is_found, int wanted) {
  __shared__ int is_here;
  if (threadIdx.x == 0) is_here = 0;
  __syncthreads();
  if (values[blockIdx.x * blockDim.x + threadIdx.x] == wanted) {
    is_here = 1;
    *is_found = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0 && !is_here) std::printf("nothing in block %u\n", blockIdx.x);
}

int main() {
  int *values, *is_found, result;
  cudaMalloc(&values, 64 * sizeof(int));
  cudaMalloc(&is_found, sizeof(int));
  cudaMemset(values, 0, 64 * sizeof(int));
  cudaMemset(is_found, 0, sizeof(int));
  search<<<2, 32>>>(values, is_found, 0);
  cudaMemcpy(&result, is_found, sizeof(int), cudaMemcpyDeviceToHost);
  std::printf("%d, %s\n", result, cudaGetErrorString(cudaGetLastError()));
  cudaFree(values);
  cudaFree(is_found);
}
