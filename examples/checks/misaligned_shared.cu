// A tile of floats is read four at a time. Nothing says that it begins at a multiple of 16 bytes.
// expect: X0107 line 9
#include <cstdio>

__global__ void sum(const float* values, float* sums) {
  __shared__ float tile[64];
  tile[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  const float4 four = *reinterpret_cast<const float4*>(&tile[threadIdx.x / 4 * 4]);
  sums[threadIdx.x] = four.x + four.y + four.z + four.w;
}

int main() {
  float* values;
  cudaMalloc(&values, 128 * sizeof(float));
  cudaMemset(values, 0, 128 * sizeof(float));
  sum<<<1, 64>>>(values, values + 64);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
}
