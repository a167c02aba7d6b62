// The classic tree reduction in shared memory, over many blocks and OS threads.
// threads: 2
// expect: 130816 every block
#include <cotangent/cpu.hpp>
#include <stdio.h>
#include <vector>

__global__ void sum(const int* in, int* out) {
  __shared__ int tile[512];
  int t = threadIdx.x;
  tile[t] = in[t];
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) tile[t] += tile[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = tile[0];
}

int main() {
  std::vector<int> in(512), out(300);
  for (int i = 0; i < 512; ++i) in[i] = i;
  ::cotangent::launch(sum, 300, 512)(in.data(), out.data());
  bool same = true;
  for (int value : out) same &= value == out[0];
  printf("%d %s\n", out[0], same ? "every block" : "differs");
}
