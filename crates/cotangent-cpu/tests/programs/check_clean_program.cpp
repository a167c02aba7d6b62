// A correct program that uses most of what the checks watch: nothing is reported.
// check
// expect: 2016 2016 64
// not in stderr: check:
#include <cotangent/cpu.hpp>
#include <cotangent/runtime_api.hpp>
#include <stdio.h>

struct Pair {
  int first, second;
};
__constant__ int factors[2];
__device__ int calls;
static const int offsets[2] = {0, 0};

template <class T>
__device__ T warp_sum(T value) {
  for (int delta = 16; delta > 0; delta /= 2) value += __shfl_down_sync(0xffffffffu, value, delta);
  return value;
}

__global__ void work(Pair* out, int n) {
  __shared__ int tile[64];
  int local[4] = {0, 1, 2, 3};
  int t = threadIdx.x;
  tile[t] = t + offsets[t % 2] + local[t % 4] - t % 4;
  __syncthreads();
  int value = warp_sum(tile[t] * factors[0]);
  __syncthreads();
  if (t % 32 == 0) tile[t / 32] = value;
  __syncthreads();
  atomicAdd(&calls, 1);
  if (t == 0) {
    Pair pair = {tile[0] + tile[1], 0};
    *out = pair;
  }
  float(&s)[COTANGENT_MAX_DYNAMIC_SHARED / 4] =
      *reinterpret_cast<float(*)[COTANGENT_MAX_DYNAMIC_SHARED / 4]>(::cotangent::dynamic_shared());
  s[t] = t;
  __syncwarp();
  if (t == n) out->second = static_cast<int>(s[t]) + 2016 - n;
}

static ::cotangent::Symbol _cotangent_symbol_0(&factors, sizeof(factors), "factors", COTANGENT_SPACE_CONSTANT);
static ::cotangent::Symbol _cotangent_symbol_1(&calls, sizeof(calls), "calls");

int main() {
  int ones[2] = {1, 1}, count;
  cudaMemcpyToSymbol(factors, ones, sizeof ones);
  Pair *out, host;
  cudaMalloc(&out, sizeof(Pair));
  ::cotangent::launch([&](auto&&... a) { work(a...); }, 1, 64, 64 * sizeof(float))(out, 5);
  cudaMemcpy(&host, out, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&count, calls, sizeof count);
  printf("%d %d %d\n", host.first, host.second, count);
}
