// Dynamic shared memory at namespace scope: more than the launch asked for is out of bounds.
// check
// exit: 66
// expect: cudaErrorIllegalAddress
// corrected: cudaSuccess
// stderr: error[X0101]
// stderr: dynamic shared memory
#include <cuda_runtime.h>

static thread_local int (&buffer)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(int)] =
    *reinterpret_cast<int (*)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(int)]>(::cotangent::dynamic_shared());

__global__ void reverse(int* out) {
  buffer[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = buffer[blockDim.x - 1 - threadIdx.x];
}

int main() {
  int* out;
  cudaMalloc(&out, 2 * 64 * sizeof(int));
#ifdef CORRECTED
  ::cotangent::launch(reverse, 2, 64, 64 * sizeof(int))(out);
#else
  ::cotangent::launch(reverse, 2, 64, 63 * sizeof(int))(out);
#endif
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
}
