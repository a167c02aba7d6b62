// Bytes of a variable are read as a number. They may begin at any address.
// expect: X0107 line 8
#include <cstdio>

__device__ unsigned char message[16];

__global__ void decode(int* numbers) {
  numbers[threadIdx.x] = reinterpret_cast<int*>(message)[threadIdx.x];
}

int main() {
  int* numbers;
  cudaMalloc(&numbers, 4 * sizeof(int));
  decode<<<1, 4>>>(numbers);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(numbers);
}
