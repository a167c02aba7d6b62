// Measures the printed kernels, whose text stands before this one. Times are the least of several rounds, in which
// what is compared takes turns. Without an argument: processor time of this OS thread, and prints nanoseconds of the
// launched saxpy, of the plain loop, and of a barrier and a shuffle per thread. With one: the launched saxpy's time by
// the wall clock, for the scaling over OS threads.
#include <stdio.h>
#include <time.h>

#include <algorithm>

static double nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

__attribute__((noinline)) static void plain_saxpy(int n, float a, const float* x, float* y) {
  for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}

template <class Work>
static void keep_least(double& least, clockid_t clock, Work work) {
  const double start = nanoseconds(clock);
  work();
  least = std::min(least, nanoseconds(clock) - start);
}

int main(int count, char**) {
  const int n = 10000000, rounds = 2000, threads = 256;
  float *x, *y;
  int* out;
  cudaMallocManaged(&x, n * sizeof(float));
  cudaMallocManaged(&y, n * sizeof(float));
  cudaMallocManaged(&out, threads * sizeof(int));
  for (int i = 0; i < n; ++i) x[i] = i % 7, y[i] = 0;
  auto launch = [&] { saxpy_launch((n + 255) / 256, 256, 0, nullptr, n, 1e-3f, x, y); };

  if (count > 1) {
    double wall = 1e18;
    for (int round = 0; round < 15; ++round) keep_least(wall, CLOCK_MONOTONIC, launch);
    printf("%.0f\n", wall);
    return 0;
  }
  double launched = 1e18, plain = 1e18, barrier = 1e18, shuffle = 1e18;
  for (int round = 0; round < 15; ++round) {
    keep_least(launched, CLOCK_THREAD_CPUTIME_ID, launch);
    keep_least(plain, CLOCK_THREAD_CPUTIME_ID, [&] { plain_saxpy(n, 1e-3f, x, y); });
    keep_least(barrier, CLOCK_THREAD_CPUTIME_ID, [&] { barriers_launch(1, threads, 0, nullptr, rounds, out); });
    keep_least(shuffle, CLOCK_THREAD_CPUTIME_ID, [&] { shuffles_launch(1, threads, 0, nullptr, rounds, out); });
  }
  printf("%.0f %.0f %.3f %.3f\n", launched, plain, barrier / rounds / threads, shuffle / rounds / threads);
}
