// Dynamic shared memory has one address under every name, at function and at namespace scope.
// expect: 3 2 1 0 same
#include <cotangent/cpu.hpp>
#include <stdio.h>

static thread_local int (&at_namespace)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(int)] =
    *reinterpret_cast<int (*)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(int)]>(::cotangent::dynamic_shared());

__global__ void reverse(int* out, bool* same) {
  float(&s)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(float)] =
      *reinterpret_cast<float(*)[COTANGENT_MAX_DYNAMIC_SHARED / sizeof(float)]>(::cotangent::dynamic_shared());
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[3 - threadIdx.x];
  *same = static_cast<void*>(s) == static_cast<void*>(at_namespace);
}

int main() {
  int out[4];
  bool same = false;
  ::cotangent::launch(reverse, 1, 4, 4 * sizeof(float))(out, &same);
  printf("%d %d %d %d %s\n", out[0], out[1], out[2], out[3], same ? "same" : "differs");
}
