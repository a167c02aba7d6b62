// Arrays of the caller, whose sizes the loop states: `all` elements of each.
#include <cotangent/checkpoint.hpp>

__global__ void turn(float* u, float* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float before = w[i];
  w[i] = before - 0.02f * sinf(u[i]);
  u[i] += 0.02f * before;
}

void evolve(float* u, float* w, int n, int steps, int all) {
  for (int t = 0; t < steps; ++t) {
    COTANGENT_CHECKPOINT(u, n);
    COTANGENT_CHECKPOINT(w, all);
    turn<<<(n + 63) / 64, 64>>>(u, w, n);
  }
}
