// A time loop of 50 steps, differentiated in two ways: `recorded` works on arrays of the caller, whose sizes nobody knows,
// so its kernels record what their reverse sweeps read; `copied` allocates its arrays, and copies those that change.
#include <cotangent/cotangent.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void diffuse(const float* u, const float* field, float rate, float* v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int left = i > 0 ? i - 1 : n - 1;
  int right = i + 1 < n ? i + 1 : 0;
  v[i] = u[i] + rate * field[i] * (u[left] - 2.0f * u[i] + u[right]) + 0.01f * u[i] * u[i];
}

__global__ void damp(float* u, float rate, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) u[i] *= 1.0f - 0.1f * rate * u[i];
}

void recorded(float* u, float* v, const float* field, float rate, int n, int steps) {
  int blocks = (n + 127) / 128;
  for (int t = 0; t < steps; ++t) {
    diffuse<<<blocks, 128>>>(u, field, rate, v, n);
    diffuse<<<blocks, 128>>>(v, field, rate, u, n);
    damp<<<blocks, 128>>>(u, rate, n);
  }
}

void copied(const float* state, float* result, const float* field, float rate, int n, int steps) {
  size_t bytes = n * sizeof(float);
  float *u, *v;
  cudaMalloc(&u, bytes);
  cudaMalloc(&v, bytes);
  cudaMemcpy(u, state, bytes, cudaMemcpyDeviceToDevice);
  int blocks = (n + 127) / 128;
  for (int t = 0; t < steps; ++t) {
    diffuse<<<blocks, 128>>>(u, field, rate, v, n);
    diffuse<<<blocks, 128>>>(v, field, rate, u, n);
    damp<<<blocks, 128>>>(u, rate, n);
  }
  cudaMemcpy(result, u, bytes, cudaMemcpyDeviceToDevice);
  cudaFree(u);
  cudaFree(v);
}

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int steps = 50;
  float *u, *v, *field, *result, *d_u, *d_v, *d_field, *d_result;
  for (float** array : {&u, &v, &field, &result, &d_u, &d_v, &d_field, &d_result}) {
    cudaMallocManaged(array, n * sizeof(float));
  }
  float d_rate = 0;
  auto begin = [&](float seed_of_u, float seed_of_result) {
    d_rate = 0;
    for (int i = 0; i < n; ++i) {
      u[i] = 0.3f + 0.1f * (i % 7);
      field[i] = 0.5f;
      v[i] = result[i] = d_v[i] = d_field[i] = 0;
      d_u[i] = seed_of_u;
      d_result[i] = seed_of_result;
    }
  };

  begin(0, 0);
  double start = seconds();
  recorded(u, v, field, 0.2f, n, steps);
  cudaDeviceSynchronize();
  const double plain = seconds() - start;

  auto of_recorded = cotangent::gradient(recorded, "u, v, field, rate");
  begin(1, 0);
  start = seconds();
  of_recorded.execute(u, v, field, 0.2f, n, steps, d_u, d_v, d_field, &d_rate);
  cudaDeviceSynchronize();
  const double with_records = seconds() - start;
  const std::vector<float> first(d_u, d_u + n);
  const float first_rate = d_rate;

  auto of_copied = cotangent::gradient(copied, "state, result, field, rate");
  begin(0, 1);
  start = seconds();
  of_copied.execute(u, result, field, 0.2f, n, steps, d_u, d_result, d_field, &d_rate);
  cudaDeviceSynchronize();
  const double with_copies = seconds() - start;

  double difference = std::fabs(d_rate - first_rate) / std::fabs(d_rate);
  for (int i = 0; i < n; ++i) difference = std::fmax(difference, std::fabs(first[i] - d_u[i]));
  // A diffusion records three values an element, and would copy one array; damping records one in both ways.
  const double megabytes = 1e-6 * n * sizeof(float) * steps;
  std::printf("function %.3f s; gradient with records %.3f s, %.1f MB; with copies %.3f s, %.1f MB; difference %.1e\n",
              plain, with_records, 7 * megabytes, with_copies, 3 * megabytes, difference);
  for (float* array : {u, v, field, result, d_u, d_v, d_field, d_result}) cudaFree(array);
  return difference < 1e-4 ? 0 : 1;
}
