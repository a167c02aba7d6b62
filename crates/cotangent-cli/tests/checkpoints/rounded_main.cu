// Runs the gradient of `rounded` and prints the sum of what it gave, and the ways that it went.
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
  const int ways = rounded_grad_0_1(arrays[0], arrays[1], std::atof(argv[2]), n, arrays[2], arrays[3]);
  for (int k = 0; k < 4; ++k) cudaMemcpy(values[k].data(), arrays[k], n * sizeof(float), cudaMemcpyDeviceToHost);
  double total = 0;
  for (int k = 2; k < 4; ++k) {
    for (const float value : values[k]) total += value;
  }
  std::printf("total %.9g %d\n", total, ways);
  say({&values[2], &values[3]}, 0.0f);
}
