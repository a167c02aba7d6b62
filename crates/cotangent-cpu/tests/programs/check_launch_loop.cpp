// A printed loop launch runs thread by thread when it is checked, so that races are seen.
// check
// exit: 66
// expect: done
// corrected: done
// stderr: error[X0203]
// stderr: check_launch_loop.cpp:14
#include <cuda_runtime.h>

static inline void store(const ::cotangent::Thread& thread, int* out) {
#ifdef CORRECTED
  out[thread.threadIdx.x] = thread.threadIdx.x;
#else
  out[0] = thread.threadIdx.x;
#endif
}

int main() {
  int* out;
  cudaMalloc(&out, 8 * sizeof(int));
  ::cotangent::launch_loop([&](const ::cotangent::Thread& thread, auto... a) { store(thread, a...); }, 1, 8)(out);
  printf("done\n");
}
