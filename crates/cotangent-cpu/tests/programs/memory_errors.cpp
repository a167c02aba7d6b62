// Copies whose kind contradicts the pointers, copies past the end, and wrong frees are errors.
// expect: into host: cudaErrorInvalidValue
// expect: from host: cudaErrorInvalidValue
// expect: past the end: cudaErrorInvalidValue
// expect: fill of host memory: cudaErrorInvalidValue
// expect: bad kind: cudaErrorInvalidMemcpyDirection
// expect: free of host memory: cudaErrorInvalidValue
// expect: free of null: cudaSuccess
// expect: free: cudaSuccess
// expect: second free: cudaErrorInvalidValue
// expect: too much: cudaErrorMemoryAllocation
// expect: last: cudaErrorMemoryAllocation
// expect: after that: cudaSuccess
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

static void show(const char* what, cudaError_t error) { printf("%s: %s\n", what, cudaGetErrorName(error)); }

int main() {
  int host[4] = {}, other[4] = {}, *device, *huge;
  cudaMalloc(&device, sizeof host);
  show("into host", cudaMemcpy(host, other, sizeof host, cudaMemcpyHostToDevice));
  show("from host", cudaMemcpy(host, other, sizeof host, cudaMemcpyDeviceToHost));
  show("past the end", cudaMemcpy(device + 1, host, sizeof host, cudaMemcpyHostToDevice));
  show("fill of host memory", cudaMemset(host, 0, sizeof host));
  show("bad kind", cudaMemcpy(device, host, sizeof host, cudaMemcpyKind(7)));
  show("free of host memory", cudaFree(host));
  show("free of null", cudaFree(nullptr));
  show("free", cudaFree(device));
  show("second free", cudaFree(device));
  show("too much", cudaMalloc(&huge, size_t(1) << 60));
  show("last", cudaGetLastError());
  show("after that", cudaGetLastError());
}
