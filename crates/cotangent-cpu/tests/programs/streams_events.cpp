// Streams and events: handles are checked, an event's time is when it was recorded.
// expect: cudaSuccess cudaSuccess cudaSuccess
// expect: time is positive
// expect: cudaErrorInvalidResourceHandle cudaErrorInvalidResourceHandle
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

__global__ void work(double* out) {
  for (int i = 1; i < 100000; ++i) *out += 1.0 / i;
}

int main() {
  cudaStream_t stream;
  cudaEvent_t start, stop;
  double* out;
  cudaMallocManaged(&out, sizeof(double));
  cudaStreamCreate(&stream), cudaEventCreate(&start), cudaEventCreateWithFlags(&stop, cudaEventDefault);
  cudaEventRecord(start, stream);
  ::cotangent::launch(work, 1, 1, 0, stream)(out);
  cudaEventRecord(stop, stream);
  cudaError_t waited = cudaStreamWaitEvent(stream, stop, 0);
  printf("%s %s %s\n", cudaGetErrorName(waited), cudaGetErrorName(cudaStreamSynchronize(stream)),
         cudaGetErrorName(cudaEventQuery(stop)));
  float milliseconds = -1;
  cudaEventElapsedTime(&milliseconds, start, stop);
  printf("time is %s\n", milliseconds > 0 ? "positive" : "not positive");
  cudaStreamDestroy(stream), cudaEventDestroy(start);
  printf("%s %s\n", cudaGetErrorName(cudaStreamSynchronize(stream)),
         cudaGetErrorName(cudaEventElapsedTime(&milliseconds, start, stop)));
}
