// What `cotangent selftest` asks of a machine before anything else: is there a device, what is it, and does a kernel run?
// Each line is a key, a tab and a value.
#include <cstdio>

__global__ void answer(int* value) { *value = 42; }

static int failed(const char* what, cudaError_t error) {
  std::printf("error\t%s: %s (%s)\n", what, cudaGetErrorName(error), cudaGetErrorString(error));
  return 1;
}

static void version(const char* key, int number) { std::printf("%s\t%d.%d\n", key, number / 1000, number % 1000 / 10); }

int main() {
#ifdef __clang__
  std::printf("host compiler\t%s\n", __VERSION__);
#else
  std::printf("host compiler\tgcc %s\n", __VERSION__);
#endif
  int driver = 0, runtime = 0, devices = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  version("driver's CUDA", driver);
  version("runtime's CUDA", runtime);
  if (driver == 0) {
    std::printf("no driver\tlibcuda.so.1 was not found\n");
    return 1;
  }
  cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorInsufficientDriver) {
    std::printf("old driver\t%s\n", cudaGetErrorString(error));
    return 1;
  }
  if (error != cudaSuccess || devices == 0) return failed("no device", error);
  cudaDeviceProp properties;
  error = cudaGetDeviceProperties(&properties, 0);
  if (error != cudaSuccess) return failed("no properties", error);
  std::printf("device\t%s\n", properties.name);
  std::printf("compute capability\t%d.%d\n", properties.major, properties.minor);
  std::printf("memory\t%zu MB\n", properties.totalGlobalMem >> 20);
  int *value = nullptr, found = 0;
  error = cudaMalloc(&value, sizeof(int));
  if (error != cudaSuccess) return failed("no memory", error);
  answer<<<1, 1>>>(value);
  error = cudaMemcpy(&found, value, sizeof(int), cudaMemcpyDeviceToHost);
  if (error == cudaSuccess) error = cudaGetLastError();
  if (error != cudaSuccess) return failed("no kernel runs", error);
  if (found != 42) return failed("a kernel did nothing", error);
  return 0;
}
