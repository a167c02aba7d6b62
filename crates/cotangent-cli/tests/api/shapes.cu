// Requests in all places where they may stand, for the kernels of shapes.cuh. µ: a letter of two bytes.
#include <cmath>
#include <cotangent/cotangent.hpp>
#include <cstdio>
#include <vector>

#include "shapes.cuh"

#define NAMES "x, y"
#define KERNEL lib::modes

namespace ct = cotangent;

/* a comment
   that ends here */ auto outside = ct::gradient(lib::products, "a, y"); auto again = ct::gradient(lib::products);

__host__ __device__ float cube(float x) { return x * x * x; }
static __device__ __forceinline__ float wave(float x) { return sinf(x); }

namespace {

struct Pair {
  float a, b;
};

__device__ Pair swapped(Pair p) { return Pair{p.b * p.b, p.a}; }

__global__ void triple(float* x) { x[threadIdx.x] *= 2.0f; }
__global__ void triple(double* x) { x[threadIdx.x] *= 3.0; }

}  // namespace

template <class T>
struct Ops {
  static __host__ __device__ T square(T x) { return x * x; }
};

__global__ void members(float* out) {
  float d_square = 0;
  Pair d_result{0, 0};
  Pair result = cotangent::pushforward(swapped, "p").execute(Pair{2, 3}, Pair{0, 1}, &d_result);
  cotangent::gradient(&Ops<float>::square).execute(3.0f, &d_square);
  out[0] = d_result.a + result.b;
  out[1] = d_square;
}

namespace user {

using namespace cotangent;

struct Holder {
  template <class Gradient>
  static void call(Gradient g, float* x, float* y, float* dx, float* dy) {
    lib::Options options{lib::Mode::Linear, lib::Flat, 2.0f};
    g.execute_kernel(1, 4, x, y, lib::Mode::Square, options, dx, dy);
  }
  void member(float* x, float* y, float* dx, float* dy) { call(gradient(KERNEL, NAMES), x, y, dx, dy); }
};

[[maybe_unused]]
__global__ void slopes(float* x) {
  float d_cube = 0, d_wave = 0;
  gradient(cube).execute(x[threadIdx.x], &d_cube);
	gradient(wave).execute(x[threadIdx.x], &d_wave);
  x[threadIdx.x] = d_cube + d_wave;
}

}  // namespace user

extern "C" {
void entry(float* x, float* y, float* dx, float* dy) { user::Holder().member(x, y, dx, dy); }
}

template <class T>
T* device(std::vector<T> values) {
  T* p = nullptr;
  cudaMalloc(&p, sizeof(T) * values.size());
  cudaMemcpy(p, values.data(), sizeof(T) * values.size(), cudaMemcpyHostToDevice);
  return p;
}

static int failures = 0;

void expect(const char* what, const void* p, std::vector<float> wanted) {
  std::vector<float> got(wanted.size());
  cudaMemcpy(got.data(), p, sizeof(float) * got.size(), cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::fabs(got[i] - wanted[i]) <= 1e-5f)) printf("%s %zu: %g\n", what, i, got[i]), ++failures;
  }
}

int main() {
  float* x = device<float>({1, 2, 3, 4});
  float* y = device<float>({0, 0, 0, 0});
  float* dx = device<float>({0, 0, 0, 0});
  entry(x, y, dx, device<float>({1, 1, 1, 1}));
  expect("modes", dx, {8, 16, 24, 32});

  user::slopes<<<1, 4>>>(x);
  expect("slopes", x, {3 + cosf(1), 12 + cosf(2), 27 + cosf(3), 48 + cosf(4)});

  auto* a = device<lib::Vec<float, 3>>({{1, 2, 3}, {4, 5, 6}});
  auto* da = device<lib::Vec<float, 3>>({{0, 0, 0}, {0, 0, 0}});
  outside.execute_kernel(1, 2, a, y, da, device<float>({1, 1}));
  again.execute_kernel(1, 2, a, y, da, device<float>({1, 1}));
  expect("products", da, {6, 6, 4, 6, 12, 10});

  lib::Private p(2, 3);
  lib::Derived q;
  q.b = 5;
  q.d = 7;
  auto* many = device<lib::Private>({{1, 2}, {3, 4}});
  auto* dp = device<lib::Private>({{0, 0}});
  auto* dq = device<lib::Derived>({lib::Derived()});
  auto* dm = device<lib::Private>({{0, 0}, {0, 0}});
  cudaMemset(dq, 0, sizeof(lib::Derived));
  float* dy = device<float>({1, 1});
  cotangent::gradient(lib::privates).execute_kernel(1, 2, 0, 0, p, q, many, y, dp, dq, dm, dy);
  expect("p", dp, {18, 12});
  expect("q", dq, {14, 10});
  expect("many", dm, {2, 1, 4, 3});

  members<<<1, 1>>>(y);
  expect("members", y, {8, 6});
  double* dz = device<double>({1});
  auto run = [&](double* z) {
    cotangent::gradient(static_cast<void (*)(double*)>(triple) /* one of
                        two */, "x").execute_kernel(1, 1, z, dz);
  };
  run(device<double>({5}));
  double slope = 0;
  cudaMemcpy(&slope, dz, sizeof(slope), cudaMemcpyDeviceToHost);
  if (slope != 3) printf("triple: %g\n", slope), ++failures;
  if (failures == 0) printf("all derivatives are right, line %d\n", __LINE__);
  return failures;
}
