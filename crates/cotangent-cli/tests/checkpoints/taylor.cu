// Compares the gradient of a wave with Taylor's series: what is left after the linear term falls with the square of the distance. Prints
// the order at each halving, and what was run.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void push(const double* u, double* v, double stiffness, double dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double left = i > 0 ? u[i - 1] : 0.0;
  double right = i + 1 < n ? u[i + 1] : 0.0;
  v[i] += dt * (left - 2.0 * u[i] + right - stiffness * u[i] * u[i] * u[i]);
}

__global__ void move(double* u, const double* v, double dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] += dt * v[i];
}

__global__ void squares(const double* u, double* sum, int n) {
  double all = 0.0;
  for (int i = 0; i < n; ++i) all += u[i] * u[i];
  *sum = all;
}

// A known number of steps.
double counted(const double* start, double stiffness, int n, int steps) {
  size_t bytes = n * sizeof(double);
  double *u, *v, *sum;
  cudaMalloc(&u, bytes);
  cudaMalloc(&v, bytes);
  cudaMalloc(&sum, sizeof(double));
  cudaMemcpy(u, start, bytes, cudaMemcpyHostToDevice);
  cudaMemset(v, 0, bytes);
  for (int t = 0; t < steps; ++t) {
    push<<<(n + 63) / 64, 64>>>(u, v, stiffness, 0.05, n);
    move<<<(n + 63) / 64, 64>>>(u, v, 0.05, n);
  }
  squares<<<1, 1>>>(u, sum, n);
  double result = 0.0;
  cudaMemcpy(&result, sum, sizeof(double), cudaMemcpyDeviceToHost);
  cudaFree(u);
  cudaFree(v);
  cudaFree(sum);
  return result;
}

// A condition ends it.
double conditional(const double* start, double stiffness, int n, int steps) {
  size_t bytes = n * sizeof(double);
  double *u, *v, *sum;
  cudaMalloc(&u, bytes);
  cudaMalloc(&v, bytes);
  cudaMalloc(&sum, sizeof(double));
  cudaMemcpy(u, start, bytes, cudaMemcpyHostToDevice);
  cudaMemset(v, 0, bytes);
  double time = 0.0;
  while (time < 0.05 * steps - 0.01) {
    push<<<(n + 63) / 64, 64>>>(u, v, stiffness, 0.05, n);
    move<<<(n + 63) / 64, 64>>>(u, v, 0.05, n);
    time += 0.05;
  }
  squares<<<1, 1>>>(u, sum, n);
  double result = 0.0;
  cudaMemcpy(&result, sum, sizeof(double), cudaMemcpyDeviceToHost);
  cudaFree(u);
  cudaFree(v);
  cudaFree(sum);
  return result;
}

int main(int argc, char** argv) {
  const int n = 12000;
  const int steps = 120;
  const double stiffness = 0.7;
  const bool is_counted = argc > 1 && std::atoi(argv[1]) == 1;
  std::vector<double> start(n), toward(n), d_start(n), moved(n);
  for (int i = 0; i < n; ++i) {
    start[i] = std::sin(0.3 * i);
    toward[i] = std::cos(0.7 * i);
  }
  const double along = 0.4;
  double d_stiffness = 0.0;
  auto of_counted = cotangent::gradient(counted, "start, stiffness", cotangent::current_budget());
  auto of_conditional = cotangent::gradient(conditional, "start, stiffness", cotangent::current_budget());
  const auto value = [&](const double* u, double k) { return is_counted ? counted(u, k, n, steps) : conditional(u, k, n, steps); };
  const double here = is_counted ? of_counted.execute(start.data(), stiffness, n, steps, d_start.data(), &d_stiffness)
                                 : of_conditional.execute(start.data(), stiffness, n, steps, d_start.data(), &d_stiffness);
  double slope = along * d_stiffness;
  for (int i = 0; i < n; ++i) slope += toward[i] * d_start[i];
  double before = 0.0;
  for (double h = 0.002; h > 0.0001; h *= 0.5) {
    for (int i = 0; i < n; ++i) moved[i] = start[i] + h * toward[i];
    const double left = std::fabs(value(moved.data(), stiffness + h * along) - here - h * slope);
    if (before > 0.0) std::printf("order %.3f\n", std::log2(before / left));
    before = left;
  }
  const cotangent::StepsReport& report = cotangent::steps_report();
  std::printf("run %llu, at most %zu in memory, %zu pinned and %zu on disk\n", static_cast<unsigned long long>(report.steps_run),
              report.states_in_memory, report.states_pinned, report.states_on_disk);
}
