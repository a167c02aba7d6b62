// How the energies change with what the springs are made of.
#include <cotangent/cotangent.hpp>

#include "springs.cuh"

void fit(const float* x, float rest, const float* stiffness, float* energy, int n, float* d_stiffness, float* d_rest) {
  float* ones;
  cudaMalloc(&ones, n * sizeof(float));
  cotangent::gradient(energies, "rest, stiffness, energy")
      .execute_kernel((n + 127) / 128, 128, x, rest, stiffness, energy, n, d_rest, d_stiffness, ones);
  cotangent::gradient(energies, "x, energy").execute_kernel(1, n, x, rest, stiffness, energy, n, d_stiffness, ones);
  cudaFree(ones);
}
