// The reverse sweep of a time loop on a GPU, by hand: the states that it wants back stay on the GPU, or go through pinned
// memory to the tape, and to disk if a folder is named.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include <cotangent/tape_device.hpp>

__global__ void step(double* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = 3.7 * x[i] * (1.0 - x[i]);
}

__global__ void step_pullback(const double* x, double* d_x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) d_x[i] *= 3.7 * (1.0 - 2.0 * x[i]);
}

int main(int argc, char** argv) {
  const int n = 100000;
  const int steps = 20;
  const std::size_t bytes = n * sizeof(double);
  std::vector<double> x0(n), ones(n, 1.0), d(n);
  for (int i = 0; i < n; ++i) x0[i] = 0.1 + 0.8 * i / n;

  double *x, *d_x;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&x, bytes);
  cudaMalloc(&d_x, bytes);
  cudaMemcpyAsync(x, x0.data(), bytes, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(d_x, ones.data(), bytes, cudaMemcpyHostToDevice, stream);

  // 8 MiB of memory and, through it, as much disk as there is; 2 MiB of pinned memory and of the GPU's in chunks of 512 KiB.
  cotangent_tape_options options = {};
  if (argc > 1) {
    options.slab_bytes = std::size_t(1) << 20;
    options.budget_bytes = std::size_t(8) << 20;
    options.spill = argv[1];
  }
  cotangent::tape::Tape tape(options);
  cotangent::tape::DeviceLane lane(tape, std::size_t(2) << 20, std::size_t(512) << 10, std::size_t(2) << 20);
  const int grid = (n + 255) / 256;
  for (int k = 0; k < steps; ++k) {
    lane.push(x, n, stream);
    step<<<grid, 256, 0, stream>>>(x, n);
  }
  for (int k = steps; k-- > 0;) {
    lane.pop(x, n, stream);
    step_pullback<<<grid, 256, 0, stream>>>(x, d_x, n);
  }
  lane.check();
  cudaMemcpyAsync(d.data(), d_x, bytes, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);

  double worst = 0;
  for (int i = 0; i < n; ++i) {
    double value = x0[i], slope = 1;
    for (int k = 0; k < steps; ++k) {
      slope *= 3.7 * (1.0 - 2.0 * value);
      value = 3.7 * value * (1.0 - value);
    }
    worst = std::fmax(worst, std::fabs(d[i] - slope) / (1.0 + std::fabs(slope)));
  }
  std::printf("%d steps of %d numbers, %.0f MB kept\n", steps, n, lane.stats().device.bytes_written / 1e6);
  std::printf("worst difference: %s\n", worst < 1e-9 ? "none" : "too large");
  cudaFree(d_x);
  cudaFree(x);
  cudaStreamDestroy(stream);
  return worst < 1e-9 ? EXIT_SUCCESS : EXIT_FAILURE;
}
