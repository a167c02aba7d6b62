// The mask names all lanes, but half of them wait elsewhere.
// expect: X0302 line 8, line 10
#include <cstdio>

__global__ void pairs(int* values) {
  int lane = threadIdx.x;
  if (lane < 16) {
    values[lane] += __shfl_down_sync(0xffffffffu, values[lane], 1);
  }
  __syncthreads();
  if (lane >= 16) values[lane] = values[lane - 16];
}

int main() {
  int* values;
  cudaMalloc(&values, 32 * sizeof(int));
  cudaMemset(values, 0, 32 * sizeof(int));
  pairs<<<1, 32>>>(values);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
}
