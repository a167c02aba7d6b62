// All arrays in one allocation, as allocators that keep a pool hand them out; or, with a third argument, each in one of its own.
#include "derivative.cu"
#include "said.hpp"

int main(int argc, char** argv) {
  const int n = std::atoi(argv[1]);
  const int steps = std::atoi(argv[2]);
  float *pool, *arrays[4];
  cudaMalloc(&pool, 4 * n * sizeof(float));
  for (int k = 0; k < 4; ++k) {
    arrays[k] = pool + k * n;
    if (argc > 3) cudaMalloc(&arrays[k], n * sizeof(float));
  }
  auto [d_u, u, d_source, source] = arrays;
  std::vector<float> values[4] = {std::vector<float>(n, 1.0f), waves(n), std::vector<float>(n), waves(n)};
  for (int k = 0; k < 4; ++k) cudaMemcpy(arrays[k], values[k].data(), n * sizeof(float), cudaMemcpyHostToDevice);
  float d_rate = 0;
  evolve_grad(u, source, 0.1f, n, steps, d_u, d_source, &d_rate);
  for (int k = 0; k < 4; ++k) cudaMemcpy(values[k].data(), arrays[k], n * sizeof(float), cudaMemcpyDeviceToHost);
  say({&values[0], &values[1], &values[2]}, d_rate);
}
