// Kernels of a header whose types and functions cannot all be named as they are: overloads, enumerations, instantiations,
// private fields, a base class, what has no name at all.
#pragma once

namespace lib {

enum class Mode { Linear, Square };
enum Shape { Round, Flat };

struct Options {
  Mode mode;
  Shape shape;
  float scale;
};

__constant__ float table[4];
__device__ float offset;
static constexpr float one_half = 0.5f;

namespace {
__device__ float hidden(float x) { return x * one_half; }
}  // namespace

__device__ inline float f(float x) { return x * x; }
__device__ inline double f(double x) { return x; }

__global__ void modes(const float* x, float* y, Mode mode, Options options) {
  int i = threadIdx.x;
  float v = x[i];
  if (mode == Mode::Square) {
    v = f(v) * options.scale + table[1] + offset;
  } else {
    v = hidden(v);
  }
  if (options.shape == Flat) v *= 2.0f;
  y[i] = v;
}

template <class T, int N>
struct Vec {
  T v[N];
  __host__ __device__ T& operator[](int i) { return v[i]; }
  __host__ __device__ const T& operator[](int i) const { return v[i]; }
};

__global__ void products(const Vec<float, 3>* a, float* y) {
  Vec<float, 3> s = a[threadIdx.x];
  auto sum = [&](float k) { return s[0] * k + s[1] * s[2]; };
  y[threadIdx.x] = sum(3.0f);
}

class Private {
 public:
  static constexpr float factor = 3.0f;
  struct Inner {
    float q;
  };
  __host__ __device__ Private(float a, float b) : a_(a), b_(b) {}
  __device__ float value() const { return a_ * b_; }

 private:
  float a_, b_;
};

struct Base {
  float b;
};

struct Derived : Base {
  float d;
};

__device__ inline float scaled(Private p) { return p.value() * Private::factor; }

__global__ void privates(Private p, Derived q, const Private* many, float* y) {
  Private::Inner inner{q.d};
  y[threadIdx.x] = scaled(p) + many[threadIdx.x].value() + q.b * inner.q;
}

__global__ void more_privates(const Private* many, float* y) { y[threadIdx.x] += scaled(many[threadIdx.x]); }

}  // namespace lib
