// Derivatives ask before a launch what the device allows; tests/api/main.rs runs this with different answers.
#include <cotangent/cotangent.hpp>

#include <cstdio>
#include <exception>

__global__ void scale(const float* x, float* y) { y[threadIdx.x] = 2.0f * x[threadIdx.x]; }

__global__ void iterate(float* x, int n) {
  int i = threadIdx.x;
  for (int k = 0; k < n; ++k) x[i] = x[i] * x[i];
}

void host(float* x, float* y) {
  iterate<<<1, 128>>>(x, 2);
  scale<<<1, 128>>>(x, y);
}

template <class Body>
void attempt(const char* what, Body body) {
  try {
    body();
    std::printf("%s: ran\n", what);
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", what, error.what());
  }
}

int main() {
  float *x, *y, *d_x, *d_y;
  for (float** array : {&x, &y, &d_x, &d_y}) {
    cudaMallocManaged(array, 128 * sizeof(float));
    for (int i = 0; i < 128; ++i) (*array)[i] = 1;
  }
  auto of_scale = cotangent::gradient(scale);
  attempt("kernel", [&] { of_scale.execute_kernel(1, 128, x, y, d_x, d_y); });
  attempt("launcher", [&] { cotangent::gradient(iterate).execute_kernel(1, 128, x, 2, d_x); });
  attempt("host", [&] { cotangent::gradient(host, "x, y").execute(x, y, d_x, d_y); });
  attempt("shared", [&] { of_scale.execute_kernel(1, 64, 60000, nullptr, x, y, d_x, d_y); });
  attempt("much shared", [&] { of_scale.execute_kernel(1, 64, 300000, nullptr, x, y, d_x, d_y); });
  for (float* array : {x, y, d_x, d_y}) cudaFree(array);
}
