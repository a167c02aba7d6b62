// Kernels, variables and launches. Says what is not as it should be, and returns 1.
#include <cuda_runtime.h>
#include <cstdio>

#include "expect.hpp"

// In a checked run work is not late.
#ifdef CHECKED
constexpr bool late = false;
#else
constexpr bool late = true;
#endif

__device__ int counter = 1;
__constant__ float table[4] = {1, 2, 3, 4};
__managed__ int shared_number = 5;

// Uses a variable before main.
struct Early {
  int seen;
  Early() : seen(shared_number) { shared_number = 6; }
} early;

template <class T>
__global__ void scale(T* x, T factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

__global__ void sum(const float* x, float* result, int n) {
  extern __shared__ float partial[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  partial[threadIdx.x] = i < n ? x[i] * table[i % 4] : 0.0f;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    atomicAdd(result, partial[0]);
    atomicAdd(&counter, 1);
  }
}

__global__ void __launch_bounds__(64) small(int* x) { x[threadIdx.x] = shared_number; }

static int launches() {
  const int n = 1000;
  static float host[n];
  for (int i = 0; i < n; ++i) host[i] = i % 7;
  float *x, *result, total = 0, expected = 0;
  for (int i = 0; i < n; ++i) expected += 2 * host[i] * (1 + i % 4);
  OK(cudaMalloc(&x, sizeof host));
  OK(cudaMallocManaged(&result, sizeof(float)));
  *result = 0;
  OK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  scale<<<8, 128>>>(x, 2.0f, n);
  OK(cudaGetLastError());
  sum<<<dim3(8), dim3(128), 128 * sizeof(float)>>>(x, result, n);
  OK(cudaGetLastError());
  EXPECT(*result == (late ? 0 : expected));
  OK(cudaDeviceSynchronize());
  EXPECT(*result == expected);
  OK(cudaMemcpy(&total, result, sizeof(float), cudaMemcpyDefault));
  EXPECT(total == expected);

  float half = 0.5f;
  int count = n;
  void* arguments[] = {&x, &half, &count};
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  OK(cudaLaunchKernel((const void*)scale<float>, dim3(8), dim3(128), arguments, 0, stream));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8), config.blockDim = dim3(128), config.stream = stream;
  OK(cudaLaunchKernelEx(&config, scale<float>, x, 3.0f, n));
  OK(cudaMemcpyAsync(&total, x + 5, sizeof(float), cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  EXPECT(total == 15);
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(x));
  OK(cudaFree(result));
  return 0;
}

static int limits() {
  cudaFuncAttributes attributes;
  OK(cudaFuncGetAttributes(&attributes, small));
  EXPECT(attributes.maxThreadsPerBlock == 64 && attributes.ptxVersion == 75);
  int grid = 0, block = 0, blocks = 0;
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, small));
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, small, 64, 0));
  EXPECT(block == 64 && grid > 0 && blocks > 0);
  int* x;
  OK(cudaMalloc(&x, 64 * sizeof(int)));
  small<<<1, 65>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  small<<<1, 1025>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  small<<<0, 1>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
  small<<<1, 1, 50000>>>(x);
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(small, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  small<<<1, 64, 50000>>>(x);
  OK(cudaGetLastError());
  void* arguments[] = {&x};
  OK(cudaLaunchCooperativeKernel((const void*)small, dim3(1), dim3(64), arguments, 0, 0));
  EXPECT(cudaLaunchCooperativeKernel((const void*)small, dim3(2), dim3(64), arguments, 0, 0) == cudaErrorNotSupported);
  cudaGetLastError();
  int last = 0;
  OK(cudaMemcpy(&last, x + 63, sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(last == shared_number);
  OK(cudaFree(x));
  return 0;
}

static int variables() {
  EXPECT(early.seen == 5 && shared_number == 6);
  int value = 0;
  OK(cudaMemcpyFromSymbol(&value, counter, sizeof(int)));
  EXPECT(value == 9);
  void* address;
  size_t bytes = 0;
  OK(cudaGetSymbolAddress(&address, table));
  OK(cudaGetSymbolSize(&bytes, table));
  float back[2], in[2] = {8, 9};
  EXPECT(bytes == sizeof table);
  OK(cudaMemcpyToSymbol(table, in, sizeof in, 8));
  OK(cudaMemcpy(back, (char*)address + 8, sizeof back, cudaMemcpyDeviceToHost));
  EXPECT(back[0] == 8 && back[1] == 9);
  EXPECT(cudaMemcpyToSymbol(table, in, sizeof in, 12) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpyFromSymbol(&value, value, sizeof(int)) == cudaErrorInvalidSymbol);
  cudaGetLastError();
  value = 11;
  OK(cudaMemcpyToSymbol(shared_number, &value, sizeof(int)));
  EXPECT(shared_number == 11);
  return 0;
}

int main() { return launches() || variables() || limits(); }
