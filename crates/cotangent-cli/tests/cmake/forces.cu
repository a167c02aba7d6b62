// The force on each point of the chain: the gradient of its energy.
#include "springs.cuh"

#include <cotangent/cotangent.hpp>

void forces(const float* x, float rest, const float* stiffness, float* energy, int n, float* force) {
  auto gradient = cotangent::gradient(energies, "x, energy");
  float* ones;
  cudaMalloc(&ones, n * sizeof(float));
  gradient.execute_kernel((n + 127) / 128, 128, x, rest, stiffness, energy, n, force, ones);
  cudaFree(ones);
}
