// A kernel template whose arguments are deduced is launched through a lambda.
// expect: 2.5 5 7.5
#include <cotangent/cpu.hpp>
#include <stdio.h>

template <class T>
__global__ void scale(T* out, T factor) {
  out[threadIdx.x] = (threadIdx.x + 1) * factor;
}

int main() {
  double out[3];
  ::cotangent::launch([&](auto&&... a) { scale(a...); }, 1, 3)(out, 2.5);
  printf("%g %g %g\n", out[0], out[1], out[2]);
}
