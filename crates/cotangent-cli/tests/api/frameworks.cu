// The framework form, as a framework calls it: cotangents are const, and may be one array; gradients hold anything before.
#include <cmath>
#include <cotangent/cotangent.hpp>
#include <cstdio>
#include <stdexcept>

// Two outputs, and a sum in a tile between them.
__global__ void moments(const float* x, float* centred, float* squares, int n) {
  __shared__ float sums[8];
  int i = threadIdx.x;
  sums[i] = i < n ? x[i] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
  for (int k = 0; k < 8; ++k) sum += sums[k];
  if (i < n) {
    centred[i] = x[i] - sum / n;
    squares[i] = x[i] * x[i];
  }
}

__global__ void stretch(const float* x, float scale, float* y, int n) {
  int i = threadIdx.x;
  if (i < n) y[i] = scale * x[i];
}

// A host function that launches both, and takes a number.
void scaled(const float* x, float scale, float* centred, float* squares, int n) {
  float* most;
  cudaMalloc(&most, n * sizeof(float));
  moments<<<1, 8>>>(x, most, squares, n);
  stretch<<<1, 8>>>(most, scale, centred, n);
  cudaFree(most);
}

int main() {
  const int n = 6;
  float *x, *centred, *squares, *seed, *gradient;
  for (float** array : {&x, &centred, &squares, &seed, &gradient}) cudaMallocManaged(array, n * sizeof(float));
  for (int i = 0; i < n; ++i) {
    x[i] = 0.5f + 0.25f * i;
    seed[i] = 1.0f + i;
    gradient[i] = NAN;
  }
  auto of = cotangent::vjp(moments, "x, centred, squares");
  of.execute_kernel(1, 8, x, centred, squares, n, gradient, n, seed, seed);
  cudaDeviceSynchronize();
  float mean = 0.0f;
  for (int i = 0; i < n; ++i) mean += seed[i] / n;
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    const float expected = seed[i] - mean + 2.0f * x[i] * seed[i];
    wrong += !(std::fabs(gradient[i] - expected) < 1e-5f) || seed[i] != 1.0f + i;
  }
  printf("%d wrong\n", wrong);

  // Two cotangents are one array here too.
  auto of_host = cotangent::vjp(scaled, "x, scale, centred, squares");
  const float scale = 3.0f;
  float of_scale = NAN, expected_of_scale = 0.0f;
  of_host.execute(x, scale, centred, squares, n, gradient, n, &of_scale, seed, n, seed, n);
  for (int i = 0; i < n; ++i) {
    const float expected = scale * (seed[i] - mean) + 2.0f * x[i] * seed[i];
    wrong += !(std::fabs(gradient[i] - expected) < 1e-5f) || seed[i] != 1.0f + i;
    expected_of_scale += seed[i] * centred[i] / scale;
  }
  printf("%d wrong\n", wrong + !(std::fabs(of_scale - expected_of_scale) < 1e-4f));
  try {
    of.execute_kernel(1, 8, x, centred, squares, n, gradient, n, seed, gradient);
  } catch (const std::runtime_error& error) {
    printf("%s\n", error.what());
  }
}
