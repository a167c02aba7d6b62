// Measured by `cargo run --release -p cotangent-cpu --example speed`: a barrier-free saxpy as a
// loop launch against the plain loop, and the cost of a barrier. Times are of this thread's own
// processor time, interleaved, and the least of several rounds. With an argument: the time by the
// wall clock of the launch alone, for the scaling over OS threads.
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>

#include <stdio.h>
#include <time.h>

#include <algorithm>

static double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec * 1e-9;
}

static inline void saxpy(const ::cotangent::Thread& thread, int n, float a, const float* x, float* y) {
  int i = thread.blockIdx.x * thread.blockDim.x + thread.threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__attribute__((noinline)) static void plain_saxpy(int n, float a, const float* x, float* y) {
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

__global__ void barriers(int rounds, int* out) {
  int value = threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    __syncthreads();
    value += round;
  }
  out[threadIdx.x] = value;
}

__global__ void shuffles(int rounds, int* out) {
  int value = threadIdx.x;
  for (int round = 0; round < rounds; ++round) value += __shfl_xor_sync(0xffffffffu, value, 1);
  out[threadIdx.x] = value;
}

static void launch_saxpy(int n, float a, const float* x, float* y) {
  ::cotangent::launch_loop([&](const ::cotangent::Thread& thread, auto... args) { saxpy(thread, args...); },
                           (n + 255) / 256, 256)(n, a, x, y);
}

template <class Work>
static double time_of(clockid_t clock, Work work) {
  const double start = seconds(clock);
  work();
  return seconds(clock) - start;
}

int main(int argc, char**) {
  const int n = 10000000, rounds = 2000, threads = 256;
  float *x, *y;
  int* out;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  cudaMallocManaged(&out, threads * sizeof(int));
  for (int i = 0; i < n; ++i) x[i] = i % 7, y[i] = 0;

  if (argc > 1) {
    double best = 1e9;
    for (int round = 0; round < 15; ++round) {
      best = std::min(best, time_of(CLOCK_MONOTONIC, [&] { launch_saxpy(n, 1e-3f, x, y); }));
    }
    printf("%.9f\n", best);
    return 0;
  }

  double launched = 1e9, plain = 1e9, barrier = 1e9, shuffle = 1e9;
  for (int round = 0; round < 15; ++round) {
    launched = std::min(launched, time_of(CLOCK_THREAD_CPUTIME_ID, [&] { launch_saxpy(n, 1e-3f, x, y); }));
    plain = std::min(plain, time_of(CLOCK_THREAD_CPUTIME_ID, [&] { plain_saxpy(n, 1e-3f, x, y); }));
    barrier = std::min(barrier, time_of(CLOCK_THREAD_CPUTIME_ID,
                                        [&] { ::cotangent::launch(barriers, 1, threads)(rounds, out); }));
    shuffle = std::min(shuffle, time_of(CLOCK_THREAD_CPUTIME_ID,
                                        [&] { ::cotangent::launch(shuffles, 1, threads)(rounds, out); }));
  }
  printf("saxpy of 1e7 elements, one core: launch %.2f ms, plain loop %.2f ms, ratio %.2f\n", launched * 1e3,
         plain * 1e3, launched / plain);
  printf("barrier: %.1f ns per thread (256 threads)\n", barrier * 1e9 / rounds / threads);
  printf("shuffle: %.1f ns per thread (256 threads)\n", shuffle * 1e9 / rounds / threads);
}
