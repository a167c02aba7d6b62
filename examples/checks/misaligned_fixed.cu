// Each number of a record lies at a multiple of its size.
#include <cstdio>

const int record = 2 * sizeof(int);

__global__ void sum(const char* records, int* numbers) {
  numbers[threadIdx.x] = *reinterpret_cast<const int*>(records + threadIdx.x * record + sizeof(int));
}

int main() {
  char* records;
  int* numbers;
  cudaMalloc(&records, 32 * record);
  cudaMalloc(&numbers, 32 * sizeof(int));
  cudaMemset(records, 0, 32 * record);
  sum<<<1, 32>>>(records, numbers);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(records);
  cudaFree(numbers);
}
