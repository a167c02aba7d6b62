// Launches that run the user's own kernels on the printed path too: one text that means several kernels, a kernel
// whose type cannot be written, and one that cannot be printed.
#include <cstdio>

template <class T>
__global__ void twice(T* x) {
  x[threadIdx.x] += x[threadIdx.x];
}

template <class F>
__global__ void apply(F f, float* x) {
  x[threadIdx.x] = f(x[threadIdx.x]);
}

__device__ int factorial(int n) {
  return n < 2 ? 1 : n * factorial(n - 1);
}

__global__ void factorials(int* x) {
  x[threadIdx.x] = factorial(threadIdx.x);
}

template <class T>
T run(T start) {
  T* x;
  cudaMallocManaged(&x, 8 * sizeof(T));
  for (int i = 0; i < 8; i++) x[i] = start + i;
  // Two instantiations of this text.
  twice<<<1, 8>>>(x);
  cudaDeviceSynchronize();
  T last = x[7];
  cudaFree(x);
  return last;
}

int main() {
  std::printf("%g %d\n", run(0.25f), run(1));
  float *x, offset = 0.5f;
  cudaMallocManaged(&x, 8 * sizeof(float));
  for (int i = 0; i < 8; i++) x[i] = i;
  apply<<<1, 8>>>([=] __device__(float v) { return v + offset; }, x);
  int* y = reinterpret_cast<int*>(x) + 4;
  factorials<<<1, 4>>>(y);
  cudaDeviceSynchronize();
  std::printf("%g %d\n", x[3], y[3]);
  cudaFree(x);
}
