// A printed kernel as a loop: coordinates in three dimensions come as a value.
// expect: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23
#include <cotangent/cpu.hpp>
#include <stdio.h>

static inline void number(const ::cotangent::Thread& thread, int* out) {
  int x = thread.blockIdx.x * thread.blockDim.x + thread.threadIdx.x;
  int y = thread.blockIdx.y * thread.blockDim.y + thread.threadIdx.y;
  int z = thread.blockIdx.z * thread.blockDim.z + thread.threadIdx.z;
  out[(z * 3 + y) * 4 + x] = (z * 3 + y) * 4 + x;
}

int main() {
  int out[24];
  ::cotangent::launch_loop([&](const ::cotangent::Thread& thread, auto... a) { number(thread, a...); },
                           dim3(2, 1, 2), dim3(2, 3, 1))(out);
  for (int i = 0; i < 24; ++i) printf("%d%c", out[i], i < 23 ? ' ' : '\n');
}
