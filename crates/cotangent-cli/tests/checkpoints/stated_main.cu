// Runs the gradient of `evolve` and prints what it gave, to the last bit.
#include "derivative.cu"
#include "said.hpp"

int main(int, char** argv) {
  const int n = std::atoi(argv[1]);
  std::vector<float> values[4] = {waves(n), waves(n), std::vector<float>(n, 1.0f), std::vector<float>(n)};
  float* arrays[4];
  for (int k = 0; k < 4; ++k) {
    cudaMalloc(&arrays[k], n * sizeof(float));
    cudaMemcpy(arrays[k], values[k].data(), n * sizeof(float), cudaMemcpyHostToDevice);
  }
  evolve_grad(arrays[0], arrays[1], n, std::atoi(argv[2]), std::atoi(argv[3]), arrays[2], arrays[3]);
  for (int k = 0; k < 4; ++k) cudaMemcpy(values[k].data(), arrays[k], n * sizeof(float), cudaMemcpyDeviceToHost);
  say({&values[0], &values[1], &values[2], &values[3]}, 0.0f);
}
