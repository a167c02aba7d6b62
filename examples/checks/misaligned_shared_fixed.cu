// The tile declares the alignment of what it is read as. Dynamic shared memory has it anyway.
#include <cstdio>

__global__ void sum(const float* values, float* sums) {
  __shared__ __align__(16) float tile[64];
  extern __shared__ float dynamic[];
  dynamic[threadIdx.x] = tile[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  const float4 four = *reinterpret_cast<const float4*>(&tile[threadIdx.x / 4 * 4]);
  sums[threadIdx.x] = four.x + four.y + four.z + four.w + reinterpret_cast<float4*>(dynamic)[0].x;
}

int main() {
  float* values;
  cudaMalloc(&values, 128 * sizeof(float));
  cudaMemset(values, 0, 128 * sizeof(float));
  sum<<<1, 64, 256>>>(values, values + 64);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(values);
}
