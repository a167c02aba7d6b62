// A program that asks for derivatives in its own text, and checks them by finite differences.
#include <cmath>
#include <cotangent/cotangent.hpp>
#include <cstdio>
#include <cstring>
#include <vector>

// Two functions of one signature: their derivatives are told apart.
__global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i];
}

__global__ void sine(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sinf(x[i]);
}

namespace ops {

// A kernel that keeps its state in a record between the sweeps.
__global__ void iterate(float* state, float rate, int steps) {
  float s = state[threadIdx.x];
  for (int step = 0; step < steps; ++step) s = s + rate * sinf(s * s);
  state[threadIdx.x] = s;
}

template <typename T, int N>
__device__ T power(T v) {
  T product = T(1);
  for (int i = 0; i < N; i++) product *= v;
  return product;
}

template <typename T, int N>
__global__ void powers(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = power<T, N>(x[i]);
}

}  // namespace ops

// A class with a constructor, a member and an operator.
struct Vec3 {
  float x, y, z;
  __device__ Vec3(float a, float b, float c) : x(a), y(b), z(c) {}
  __device__ float dot(const Vec3& other) const { return x * other.x + y * other.y + z * other.z; }
};

struct Sphere {
  float centre, radius;
};

__device__ float distance(float x, float y, float scale) { return scale * sqrtf(x * x + y * y); }

__device__ float length(const Vec3& v) { return sqrtf(v.dot(v)); }

__global__ void lengths(const Vec3* v, Sphere s, float* out) {
  out[threadIdx.x] = length(v[threadIdx.x]) - s.radius * s.centre;
}

// A derivative inside of device code.
__global__ void slopes(const float* x, const float* y, float* dx, float* dy) {
  int i = threadIdx.x;
  float gx = 0.0f, gy = 0.0f;
  float value = cotangent::gradient(distance, "x, y").execute(x[i], y[i], 2.0f, &gx, &gy);
  dx[i] = gx;
  dy[i] = gy + 0.0f * value;
}

// A function of the host that allocates, copies and launches, and one for both sides.
void smooth(const float* x, float* y, int n) {
  float *on_device, *result;
  cudaMalloc(&on_device, n * sizeof(float));
  cudaMalloc(&result, n * sizeof(float));
  cudaMemcpy(on_device, x, n * sizeof(float), cudaMemcpyHostToDevice);
  square<<<1, n>>>(on_device, result, n);
  sine<<<1, n>>>(result, on_device, n);
  cudaMemcpy(y, on_device, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(on_device);
  cudaFree(result);
}

__host__ __device__ float cube(float x) { return x * x * x; }

static int failures = 0;

void expect_near(const char* what, double got, double wanted) {
  double scale = fmax(1.0, fabs(wanted));
  if (!(fabs(got - wanted) <= 2e-3 * scale)) {
    printf("%s: %g, expected %g\n", what, got, wanted);
    ++failures;
  }
}

template <class T>
struct Device {
  T* data = nullptr;
  explicit Device(const std::vector<T>& values) : size(values.size()) {
    cudaMalloc(&data, size * sizeof(T));
    cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice);
  }
  ~Device() { cudaFree(data); }
  std::vector<T> get() const {
    std::vector<T> values(size);
    cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
  }
  size_t size;
};

constexpr int N = 8;

std::vector<float> inputs() {
  std::vector<float> x(N);
  for (int i = 0; i < N; ++i) x[i] = 0.3f + 0.1f * i;
  return x;
}

// The derivative of a kernel of one array against differences of the kernel itself.
template <class Gradient, class Run>
void check(const char* what, Gradient gradient, Run run) {
  std::vector<float> x = inputs();
  Device<float> dx(std::vector<float>(N, 0.0f)), dy(std::vector<float>(N, 1.0f));
  Device<float> on_device(x), y(std::vector<float>(N, 0.0f));
  gradient.execute_kernel(2, N / 2, on_device.data, y.data, N, dx.data, dy.data);
  const float h = 1e-2f;
  std::vector<float> up = x, down = x;
  for (int i = 0; i < N; ++i) up[i] += h, down[i] -= h;
  Device<float> above(up), below(down), y_above(up), y_below(down);
  run(above.data, y_above.data);
  run(below.data, y_below.data);
  std::vector<float> got = dx.get(), a = y_above.get(), b = y_below.get();
  for (int i = 0; i < N; ++i) expect_near(what, got[i], (a[i] - b[i]) / (2 * h));
  for (float left : dy.get()) expect_near(what, left, 0.0);
}

void check_record() {
  std::vector<float> x = inputs();
  auto gradient = cotangent::gradient(
      ops::iterate,
      "state, rate");
  Device<float> state(x), d_state(std::vector<float>(N, 1.0f)), d_rate(std::vector<float>(1, 0.0f));
  cudaStream_t stream = 0;
  gradient.execute_kernel(dim3(1), dim3(N), 0, stream, state.data, 0.1f, 20, d_state.data, d_rate.data);
  const float h = 1e-3f;
  std::vector<float> sums;
  for (float rate : {0.1f - h, 0.1f + h}) {
    Device<float> moved(x);
    ops::iterate<<<1, N>>>(moved.data, rate, 20);
    float sum = 0;
    for (float value : moved.get()) sum += value;
    sums.push_back(sum);
  }
  expect_near("rate", d_rate.get()[0], (sums[1] - sums[0]) / (2 * h));
}

void check_struct() {
  float at[6] = {1, 2, 2, 0.5f, 0.25f, 1};
  Vec3* v = nullptr;
  Vec3* d_v = nullptr;
  cudaMalloc(&v, sizeof(at));
  cudaMalloc(&d_v, sizeof(at));
  cudaMemcpy(v, at, sizeof(at), cudaMemcpyHostToDevice);
  cudaMemset(d_v, 0, sizeof(at));
  Device<float> out(std::vector<float>(2, 0.0f)), d_out(std::vector<float>(2, 1.0f));
  Device<Sphere> d_s(std::vector<Sphere>(1, Sphere{0, 0}));
  cotangent::gradient(lengths).execute_kernel(1, 2, v, Sphere{2, 3}, out.data, d_v, d_s.data, d_out.data);
  float got[6];
  cudaMemcpy(got, d_v, sizeof(got), cudaMemcpyDeviceToHost);
  for (int k = 0; k < 3; ++k) expect_near("direction", got[k], at[k] / 3);
  expect_near("centre", d_s.get()[0].centre, -6);
  expect_near("radius", d_s.get()[0].radius, -4);
  cudaFree(v);
  cudaFree(d_v);
}

void check_host() {
  std::vector<float> x = inputs(), y(N), dx(N, 0.0f), dy(N, 1.0f);
  cotangent::gradient(smooth, "x, y").execute(x.data(), y.data(), N, dx.data(), dy.data());
  for (int i = 0; i < N; ++i) expect_near("value", y[i], std::sin(x[i] * x[i]));
  for (int i = 0; i < N; ++i) expect_near("smooth", dx[i], 2 * x[i] * std::cos(x[i] * x[i]));
  float slope = 0.0f;
  float value = cotangent::gradient(cube).execute(2.0f, &slope);
  expect_near("cube", value, 8);
  expect_near("slope of cube", slope, 12);
}

int main() {
  check("square", cotangent::gradient(square, "x, y"), [](float* x, float* y) { square<<<2, N / 2>>>(x, y, N); });
  check("sine", cotangent::gradient(sine, "x, y"), [](float* x, float* y) { sine<<<2, N / 2>>>(x, y, N); });
  check("powers", cotangent::gradient(ops::powers<float, 3>, "x, y"),
        [](float* x, float* y) { ops::powers<float, 3><<<2, N / 2>>>(x, y, N); });
  check_record();
  check_struct();
  check_host();

  Device<float> x(inputs()), y(inputs()), dx(inputs()), dy(inputs());
  slopes<<<1, N>>>(x.data, y.data, dx.data, dy.data);
  for (float slope : dx.get()) expect_near("slope", slope, std::sqrt(2.0));

  auto tangent = cotangent::pushforward(square, "x, y");
  Device<float> t(std::vector<float>(N, 1.0f)), ty(std::vector<float>(N, 0.0f));
  tangent.execute_kernel(2, N / 2, x.data, y.data, N, t.data, ty.data);
  for (int i = 0; i < N; ++i) expect_near("tangent", ty.get()[i], 2 * inputs()[i]);

  bool stopped = false;
  try {
    cotangent::gradient(square, "x, y").execute_kernel(1, N, x.data, y.data, N, dx.data, dx.data);
  } catch (const std::exception& error) {
    stopped = strstr(error.what(), "arguments 4 and 5") != nullptr;
  }
  if (!stopped) printf("equal arrays were not noticed\n"), ++failures;
  if (strstr(tangent.source(), "square_pushforward") == nullptr) printf("no source\n"), ++failures;
  if (failures == 0) printf("all derivatives are right, line %d\n", __LINE__);
  return failures;
}
