// A chain of springs: the energy of each, and their lengths.
#pragma once

__device__ inline float stretched(float left, float right, float rest) { return right - left - rest; }

static __global__ void energies(const float* x, float rest, const float* stiffness, float* energy, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = stretched(x[i], x[i + 1], rest);
  energy[i] = 0.5f * stiffness[i] * s * s;
}

static __global__ void lengths(const float* x, float* length, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) length[i] = stretched(x[i], x[i + 1], 0);
}

void forces(const float* x, float rest, const float* stiffness, float* energy, int n, float* force);
void fit(const float* x, float rest, const float* stiffness, float* energy, int n, float* d_stiffness, float* d_rest);
