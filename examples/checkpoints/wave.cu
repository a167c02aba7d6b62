// A wave on a string, ten thousand steps, and how its end depends on the string's stiffness: within a stated budget.
#include <cotangent/cotangent.hpp>
#include <cotangent/steps.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void move(float* place, const float* speed, float step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) place[i] += step * speed[i];
}

__global__ void bend(float* speed, const float* place, const float* stiffness, float step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = place[i > 0 ? i - 1 : n - 1];
  float right = place[i + 1 < n ? i + 1 : 0];
  float bent = right - 2.0f * place[i] + left;
  speed[i] += step * (stiffness[i] * bent - 0.01f * place[i] * place[i] * place[i]);
}

void wave(const float* start, const float* stiffness, float* end, float step, int n, int steps) {
  size_t bytes = n * sizeof(float);
  float *place, *speed, *strength;
  cudaMalloc(&place, bytes);
  cudaMalloc(&speed, bytes);
  cudaMalloc(&strength, bytes);
  cudaMemcpy(place, start, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(strength, stiffness, bytes, cudaMemcpyHostToDevice);
  cudaMemset(speed, 0, bytes);
  int blocks = (n + 127) / 128;
  for (int t = 0; t < steps; ++t) {
    move<<<blocks, 128>>>(place, speed, step, n);
    bend<<<blocks, 128>>>(speed, place, strength, step, n);
  }
  cudaMemcpy(end, place, bytes, cudaMemcpyDeviceToHost);
  cudaFree(place);
  cudaFree(speed);
  cudaFree(strength);
}

// What the program has used so far: time of the processor, and the most memory at a time.
struct Used {
  double seconds;
  double megabytes;
};
static Used used() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) { return time.tv_sec + 1e-6 * time.tv_usec; };
  return {of(usage.ru_utime) + of(usage.ru_stime), usage.ru_maxrss / 1024.0};
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 1000;
  const char* budget = argc > 3 ? argv[3] : "1MiB";
  std::vector<float> start(n), stiffness(n, 0.5f), end(n);
  for (int i = 0; i < n; ++i) start[i] = std::sin(6.2831853f * i / n);

  Used before = used();
  wave(start.data(), stiffness.data(), end.data(), 0.1f, n, steps);
  const double plain = used().seconds - before.seconds;

  // The adjoint of the end is the end itself: half the sum of its squares is what is differentiated.
  std::vector<float> d_start(n), d_stiffness(n), d_end = end;
  float d_step = 0;
  auto gradient = cotangent::gradient(wave, "start, stiffness, end, step", cotangent::budget(budget));
  before = used();
  gradient.execute(start.data(), stiffness.data(), end.data(), 0.1f, n, steps, d_start.data(), d_stiffness.data(),
                   d_end.data(), &d_step);
  const Used after = used();
  const double with_checkpoints = after.seconds - before.seconds;

  // Against a difference of the program along the stiffness.
  const float h = 0.01f;
  double along = 0;
  double losses[2];
  for (int side = 0; side < 2; ++side) {
    std::vector<float> changed(n, side == 0 ? 0.5f - h : 0.5f + h), result(n);
    wave(start.data(), changed.data(), result.data(), 0.1f, n, steps);
    losses[side] = 0;
    for (float value : result) losses[side] += 0.5 * value * value;
  }
  for (float adjoint : d_stiffness) along += adjoint;
  const double difference = (losses[1] - losses[0]) / (2 * h);
  const double error = std::fabs(along - difference) / (std::fabs(difference) + 1e-3 * n);
  std::printf("slope %.6g, by differences %.6g\n", along, difference);
  const cotangent::StepsReport& report = cotangent::steps_report();
  std::fprintf(stderr, "function %.3f s, gradient %.3f s, %llu steps run, states of %zu bytes, %zu at most, peak %.1f MB\n", plain,
               with_checkpoints, static_cast<unsigned long long>(report.steps_run), report.state_bytes,
               report.states_in_memory, after.megabytes);
  return error < 0.02 ? 0 : 1;
}
