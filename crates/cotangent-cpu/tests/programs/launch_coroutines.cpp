// A printed kernel with a barrier: its coordinates stay its own across the barrier.
// expect: 7 6 5 4 3 2 1 0
#include <cotangent/cpu.hpp>
#include <stdio.h>

static inline void reverse(const ::cotangent::Thread& thread, int* out) {
  __shared__ int tile[8];
  tile[thread.threadIdx.x] = thread.threadIdx.x;
  __syncthreads();
  out[thread.threadIdx.x] = tile[7 - thread.threadIdx.x];
}

int main() {
  int out[8];
  ::cotangent::launch_coroutines([&](const ::cotangent::Thread& thread, auto... a) { reverse(thread, a...); }, 1,
                                 8)(out);
  for (int i = 0; i < 8; ++i) printf("%d%c", out[i], i < 7 ? ' ' : '\n');
}
