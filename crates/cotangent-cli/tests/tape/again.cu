// A schedule of checkpoints on a GPU: states of two arrays on a device lane, read again from the lane as often as needed, with
// a step between each two, and forgotten by rewinding. Prints the derivative's difference from one by storing everything.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include <cotangent/tape_device.hpp>

__global__ void step(double* x, double* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    v[i] -= 0.1 * sin(x[i]);
    x[i] += 0.1 * v[i];
  }
}

__global__ void step_pullback(const double* x, double* d_x, double* d_v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    d_v[i] += 0.1 * d_x[i];
    d_x[i] -= 0.1 * cos(x[i]) * d_v[i];
  }
}

const int n = 5000;
const int steps = 24;
const int grid = (n + 127) / 128;

struct State {
  double *x, *v;
};

void advance(State state, int count, cudaStream_t stream) {
  for (int k = 0; k < count; ++k) step<<<grid, 128, 0, stream>>>(state.x, state.v, n);
}

// Reverses the steps from the state on top of the lane on, which is at `begin`, down to it.
void reverse(cotangent::tape::DeviceLane& lane, State state, State d, int begin, int end, cudaStream_t stream) {
  while (end > begin) {
    const int middle = begin + (end - begin) / 2;
    lane.hold();
    lane.pop(state.v, n, stream);
    lane.pop(state.x, n, stream);
    lane.release();
    if (end - begin == 1) {
      step_pullback<<<grid, 128, 0, stream>>>(state.x, d.x, d.v, n);
      return;
    }
    advance(state, middle - begin, stream);
    const cotangent_mark mark = lane.mark();
    lane.push(state.x, n, stream);
    lane.push(state.v, n, stream);
    reverse(lane, state, d, middle, end, stream);
    lane.rewind(mark);
    end = middle;
  }
}

State allocate(const std::vector<double>& x, const std::vector<double>& v, cudaStream_t stream) {
  State state;
  const std::size_t bytes = n * sizeof(double);
  cudaMalloc(&state.x, bytes);
  cudaMalloc(&state.v, bytes);
  cudaMemcpyAsync(state.x, x.data(), bytes, cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(state.v, v.data(), bytes, cudaMemcpyHostToDevice, stream);
  return state;
}

// The gradient of the sum of the last positions, with so many bytes in each layer.
std::vector<double> gradient(cotangent::tape::Tape& tape, std::size_t pinned, std::size_t device, bool everything) {
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  std::vector<double> x0(n), zeros(n), ones(n, 1.0), d_x(n);
  for (int i = 0; i < n; ++i) x0[i] = 3.0 * i / n;
  State state = allocate(x0, zeros, stream), d = allocate(ones, zeros, stream);
  cotangent::tape::DeviceLane lane(tape, pinned, 12000, device);
  if (everything) {
    for (int k = 0; k < steps; ++k) {
      lane.push(state.x, n, stream);
      advance(state, 1, stream);
    }
    for (int k = steps; k-- > 0;) {
      lane.pop(state.x, n, stream);
      step_pullback<<<grid, 128, 0, stream>>>(state.x, d.x, d.v, n);
    }
  } else {
    lane.push(state.x, n, stream);
    lane.push(state.v, n, stream);
    reverse(lane, state, d, 0, steps, stream);
  }
  lane.check();
  cudaMemcpyAsync(d_x.data(), d.x, n * sizeof(double), cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  if (device == 1 && lane.stats().device.bytes_written != 0) std::exit(EXIT_FAILURE);
  for (double* array : {state.x, state.v, d.x, d.v}) cudaFree(array);
  cudaStreamDestroy(stream);
  return d_x;
}

int main(int argc, char** argv) {
  cotangent_tape_options options = {};
  if (argc > 1) {
    options.slab_bytes = std::size_t(64) << 10;
    options.budget_bytes = std::size_t(256) << 10;
    options.spill = argv[1];
  }
  cotangent::tape::Tape tape(options);
  const std::vector<double> expected = gradient(tape, 0, 1, true);
  int different = 0;
  for (std::size_t pinned : {24000, 60000}) {
    for (std::size_t device : {1, 24000, 60000, 500000}) {
      for (bool everything : {false, true}) {
        const std::vector<double> d_x = gradient(tape, pinned, device, everything);
        for (int i = 0; i < n; ++i) different += !(std::fabs(d_x[i] - expected[i]) <= 1e-12 * std::fabs(expected[i]));
      }
    }
  }
  std::printf("%d of the numbers differ\n", different);
  return different == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
