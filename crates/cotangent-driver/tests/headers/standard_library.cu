// A program that uses much of the standard library beside device code, and
// calls math functions under all their names from both sides.
#include <algorithm>
#include <array>
#include <cassert>
#include <cfloat>
#include <chrono>
#include <climits>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <math.h>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

// Every name that the host and the device both have.
template <class T>
__host__ __device__ T both(T x) {
  T sum = sin(x) + std::cos(x) + exp(x) * std::max(x, T(0)) + max(x, T(1)) + std::min(x, T(1)) + min(x, x);
  sum += std::abs(x) + fabs(x) + pow(x, T(2)) + pow(x, 2) + std::pow(x, 2) + std::sqrt(x) + std::hypot(x, x);
  sum += rsqrt(x) + normcdf(x) + sinpi(x) + exp10(x) + j0(x) + yn(2, x);
  if (isnan(x) || std::isinf(x) || !isfinite(x) || std::signbit(x)) sum = std::numeric_limits<T>::max();
  return sum;
}

__constant__ float coefficients[16];
__device__ double total;
__managed__ int counter;

__global__ void __launch_bounds__(128, 2) everything(float* p, const double* __restrict__ q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __shared__ float tile[32];
  extern __shared__ float rest[];
  tile[threadIdx.x % warpSize] = both(p[i]) + coefficients[i];
  rest[0] = static_cast<float>(both(q[i]));
  __syncthreads();

  int whole = abs(-3) + abs(n) + min(n, 3) + static_cast<int>(max(3u, 4u)) + std::min(n, 3);
  long long wide = std::abs(-3ll) + llabs(-3ll) + labs(3l) + lroundf(2.f) + lrint(2.0) + clock64() + clock();
  double mixed = sin(1) + std::sin(2) + pow(2, 3) + pow(2.f, 3) + pow(2.f, 2.0) + atan2(1.f, 2.0) + fmin(1.f, 2) +
                 floor(3) + ::sqrt(3.0f) + std::fmax(1.0f, 2.0f) + std::fma(1.f, 2.f, 3.f);
  int exponent;
  mixed += frexp(3.f, &exponent) + std::frexp(3.0, &exponent) + ldexp(1.f, 2) + modf(2.f, p) + std::tgamma(2.f) +
           std::round(2.5f) + std::copysign(1.f, -1.f) + FLT_MAX + INFINITY + NAN + M_PI;
  float sine, cosine;
  sincosf(1.f, &sine, &cosine);
  sincos(1.f, &sine, &cosine);
  sincospif(1.f, &sine, &cosine);

  unsigned char bytes[4];
  memcpy(bytes, &wide, 4);
  std::memset(bytes, 0, 4);
  std::array<float, 3> three{};
  float* heap = new float[3];
  heap[0] = three[1] + bytes[0];
  delete[] heap;
  void* block = malloc(4);
  free(block);

  const auto scale = [=] __device__(float v) { return v * p[0]; };
  p[i] = scale(tile[0]) + static_cast<float>(mixed) + static_cast<float>(whole + counter) + sine + cosine;
  printf("%d %f\n", i, p[i]);
  assert(i < n && "in range");
  atomicAdd(&total, 1.0);
  p[i] = __shfl_down_sync(0xffffffff, p[i], 16) + __ldg(&p[i]);
  float4 four = reinterpret_cast<float4*>(p)[i];
  float3 vector = make_float3(four.x, four.y, four.z);
  p[0] = vector.x;
}

template <int N, class T>
__global__ void templated(T* p) {
  p[N] = static_cast<T>(threadIdx.x);
}

__global__ void constant_parameter(const __grid_constant__ float4 v, float* p) { p[0] = v.x; }

int main() {
  std::vector<float> host(16, std::sin(1.f) + sin(2.f) + rsqrtf(2.f) + normcdff(1.f) + max(1, 2) +
                                  std::max(2.f, 3.f) + abs(-2.5f) + fabsf(1.f) + exp10f(2));
  host[0] = static_cast<float>(both(2.0)) + both(1.f);
  float* p;
  double* q;
  cudaMalloc(&p, 16 * sizeof(float));
  cudaMalloc((void**)&q, 16 * sizeof(double));
  cudaMemcpy(p, host.data(), 16 * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(coefficients, host.data(), 16 * sizeof(float));
  cudaMemcpyFromSymbol(host.data(), coefficients, 16 * sizeof(float), 0, cudaMemcpyDeviceToHost);
  double zero = 0;
  cudaMemcpyToSymbol(total, &zero, sizeof(double));
  counter = 3;

  dim3 grid(2, 2), block = 128;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  everything<<<grid, block, 128, stream>>>(p, q, 10);
  everything<<<(10 + 127) / 128, 128>>>(p, q, 10);
  templated<3><<<1, 2>>>(p);
  templated<3, float><<<dim3(1), dim3(2), 0>>>(p);
  constant_parameter<<<1, 1>>>(make_float4(1, 2, 3, 4), p);
  void* arguments[] = {&p};
  cudaLaunchKernel((void*)templated<3, float>, grid, block, arguments, 0, stream);
  cudaLaunchKernel(templated<3, float>, grid, block, arguments, 0, stream);

  int grid_size, block_size;
  cudaOccupancyMaxPotentialBlockSize(&grid_size, &block_size, everything, 0, 0);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&grid_size, everything, 128, 0);
  cudaFuncSetAttribute(everything, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000);
  cudaEvent_t start, stop;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaEventRecord(start);
  cudaEventRecord(stop, stream);
  float milliseconds;
  cudaEventElapsedTime(&milliseconds, start, stop);
  assert(milliseconds >= 0);
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  std::cout << properties.name << properties.major << cudaGetErrorString(cudaGetLastError()) << std::endl;
  std::complex<double> z(1, 2);
  std::cout << std::abs(z) << std::exp(z) << std::setw(3) << "\n";
#if __cplusplus >= 201703L
  std::cout << std::cyl_bessel_i(0, 1.0) << std::lgamma(2.f) << "\n";
#endif
  uint3 as_uint3 = grid;
  dim3 and_back = as_uint3;
  return cudaDeviceSynchronize() == cudaSuccess && and_back.x == 2 ? 0 : 1;
}
