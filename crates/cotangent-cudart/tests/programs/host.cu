// Memory, copies, fills, streams and events, without a kernel. Says what is not as it should be, and returns 1.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
#include <vector>

#include "expect.hpp"

// In a checked run work is not late, and what is wrong on purpose would be found.
#ifdef CHECKED
constexpr bool late = false, wrong = false;
#else
constexpr bool late = true, wrong = true;
#endif

static void CUDART_CB increase(void* number) { ++*static_cast<int*>(number); }
static void CUDART_CB call_back(cudaStream_t, cudaError_t status, void* number) {
  *static_cast<int*>(number) += 10 + status;
}

static int device() {
  cudaDeviceProp properties;
  int count = 0, major = 0, value = 0;
  OK(cudaGetDeviceProperties(&properties, 0));
  OK(cudaGetDeviceCount(&count));
  OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  EXPECT(count == 1 && properties.warpSize == 32 && major == properties.major);
  EXPECT(properties.maxThreadsPerBlock == 1024 && properties.maxGridSize[1] == 65535);
  EXPECT(properties.memoryPoolsSupported == 1 && strcmp(properties.name, "Cotangent CPU") == 0);
  OK(cudaRuntimeGetVersion(&value));
  EXPECT(value >= 13000);
  EXPECT(cudaSetDevice(1) == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
  size_t free_bytes = 0, total_bytes = 0;
  OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT(free_bytes > 0 && free_bytes <= total_bytes);
  return 0;
}

static int pointers() {
  int on_host = 0;
  int *on_device, *pinned, *managed;
  OK(cudaMalloc(&on_device, 64));
  OK(cudaMallocHost(&pinned, 64));
  OK(cudaMallocManaged(&managed, 64));
  struct {
    void* pointer;
    cudaMemoryType type;
    bool device, host;
  } rows[] = {{on_device, cudaMemoryTypeDevice, true, false},
              {pinned, cudaMemoryTypeHost, true, true},
              {managed, cudaMemoryTypeManaged, true, true},
              {&on_host, cudaMemoryTypeUnregistered, false, true}};
  for (const auto& row : rows) {
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, row.pointer));
    EXPECT(attributes.type == row.type && attributes.device == (row.device ? 0 : -2));
    EXPECT(attributes.devicePointer == (row.device ? row.pointer : nullptr));
    EXPECT(attributes.hostPointer == (row.host ? row.pointer : nullptr));
  }
  cudaMemLocation location{};
  location.type = cudaMemLocationTypeDevice;
  OK(cudaMemPrefetchAsync(managed, 64, location, 0, 0));
  location.id = 1;
  EXPECT(cudaMemPrefetchAsync(managed, 64, location, 0, 0) == cudaErrorInvalidDevice);
  cudaGetLastError();
  if (wrong) {
    EXPECT(cudaFree((void*)1) == cudaErrorInvalidValue && cudaFree(pinned) == cudaErrorInvalidValue);
    cudaGetLastError();
  }
  OK(cudaFree(on_device));
  OK(cudaFree(managed));
  OK(cudaFreeHost(pinned));
  return 0;
}

static int copies() {
  const size_t n = 1000, bytes = n * sizeof(float);
  std::vector<float> in(n, 2.0f), out(n);
  float *a, *b;
  OK(cudaMalloc(&a, bytes));
  OK(cudaMalloc(&b, bytes));
  OK(cudaMemcpy(a, in.data(), bytes, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(b, a, bytes, cudaMemcpyDefault));
  OK(cudaMemcpy(out.data(), b, bytes, cudaMemcpyDeviceToHost));
  EXPECT(out == in);
  if (wrong) EXPECT(cudaMemcpy(a, in.data(), bytes + 1, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(in.data(), a, bytes, (cudaMemcpyKind)7) == cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
  OK(cudaFree(a));
  OK(cudaFree(b));

  size_t pitch;
  char *image, rows[20][101] = {};
  OK(cudaMallocPitch(&image, &pitch, 100, 20));
  OK(cudaMemset2D(image, pitch, 'x', 100, 20));
  OK(cudaMemcpy2D(rows, 101, image, pitch, 100, 20, cudaMemcpyDeviceToHost));
  EXPECT(pitch >= 100 && strlen(rows[0]) == 100 && strlen(rows[19]) == 100);
  OK(cudaFree(image));

  cudaPitchedPtr volume;
  char box[3][4][17] = {};
  OK(cudaMalloc3D(&volume, make_cudaExtent(16, 4, 3)));
  OK(cudaMemset3D(volume, 'y', make_cudaExtent(16, 4, 3)));
  cudaMemcpy3DParms parameters = {};
  parameters.srcPtr = volume;
  parameters.dstPtr = make_cudaPitchedPtr(box, 17, 17, 4);
  parameters.dstPos = make_cudaPos(1, 1, 0);
  parameters.extent = make_cudaExtent(15, 3, 3);
  parameters.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&parameters));
  EXPECT(box[0][0][1] == 0 && box[2][3][0] == 0 && strlen(&box[0][1][1]) == 15 && strlen(&box[2][3][1]) == 15);
  OK(cudaFree(volume.ptr));
  return 0;
}

static int streams() {
  const size_t n = 100, bytes = n * sizeof(float);
  float *a, *pinned, milliseconds = -1;
  cudaStream_t left, right;
  cudaEvent_t begin, end;
  OK(cudaMalloc(&a, bytes));
  OK(cudaMallocHost(&pinned, bytes));
  OK(cudaStreamCreate(&left));
  OK(cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking));
  unsigned flags = 0;
  OK(cudaStreamGetFlags(right, &flags));
  EXPECT(flags == cudaStreamNonBlocking);
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreateWithFlags(&end, cudaEventDefault));
  pinned[0] = 7;
  OK(cudaEventRecord(begin, left));
  OK(cudaMemsetAsync(a, 0, bytes, left));
  OK(cudaEventRecord(end, left));
  OK(cudaStreamWaitEvent(right, end, 0));
  OK(cudaMemcpyAsync(pinned, a, bytes, cudaMemcpyDeviceToHost, right));
  EXPECT(pinned[0] == (late ? 7 : 0));
  EXPECT(cudaEventElapsedTime(&milliseconds, begin, end) == (late ? cudaErrorNotReady : cudaSuccess));
  cudaGetLastError();
  OK(cudaStreamSynchronize(right));
  EXPECT(pinned[0] == 0);
  OK(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT(milliseconds >= 0);
  OK(cudaEventQuery(end));

  // Pinned memory is read when the copy is made.
  pinned[0] = 5;
  OK(cudaMemcpyAsync(a, pinned, bytes, cudaMemcpyHostToDevice));
  pinned[0] = 6;
  OK(cudaStreamSynchronize(0));
  float value = 0;
  OK(cudaMemcpyAsync(&value, a, sizeof(float), cudaMemcpyDeviceToHost, left));
  OK(cudaStreamSynchronize(left));
  EXPECT(value == (late ? 6 : 5));
  OK(cudaDeviceSynchronize());

  int number = 0;
  OK(cudaLaunchHostFunc(left, increase, &number));
  OK(cudaStreamAddCallback(left, call_back, &number, 0));
  EXPECT(number == (late ? 0 : 11));
  OK(cudaStreamQuery(left));
  EXPECT(number == 11);

  float* pool;
  OK(cudaMallocAsync(&pool, 1024, left));
  OK(cudaFreeAsync(pool, left));
  OK(cudaFreeHost(pinned));
  OK(cudaFree(a));
  OK(cudaStreamDestroy(left));
  OK(cudaStreamDestroy(right));
  OK(cudaEventDestroy(begin));
  OK(cudaEventDestroy(end));
  EXPECT(cudaStreamSynchronize(left) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  return 0;
}

int main() {
  if (device() || pointers() || copies() || streams()) return 1;
  cudaGraph_t graph;
  EXPECT(cudaGraphCreate(&graph, 0) == cudaErrorNotSupported);
  EXPECT(cudaGraphCreate(&graph, 0) == cudaErrorNotSupported);
  EXPECT(cudaGetLastError() == cudaErrorNotSupported);
  OK(cudaDeviceReset());
  return 0;
}
