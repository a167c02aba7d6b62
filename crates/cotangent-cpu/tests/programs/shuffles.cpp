// The four shuffles with widths, on 4- and 8-byte types.
// expect: down 496
// expect: up 496
// expect: xor 32
// expect: index 3.5 19.5
// expect: double 40.25
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void shuffle(float* out, double* wide) {
  int lane = threadIdx.x;
  int value = lane;
  for (int delta = 16; delta > 0; delta /= 2) value += __shfl_down_sync(0xffffffffu, value, delta);
  if (lane == 0) out[0] = value;
  unsigned scan = lane;
  for (int delta = 1; delta < 32; delta *= 2) {
    unsigned below = __shfl_up_sync(0xffffffffu, scan, delta);
    if (lane >= delta) scan += below;
  }
  if (lane == 31) out[1] = scan;
  long long ones = 1;
  for (int mask = 16; mask > 0; mask /= 2) ones += __shfl_xor_sync(0xffffffffu, ones, mask);
  if (lane == 13) out[2] = ones;
  float picked = __shfl_sync(0xffffffffu, lane + 0.5f, 3, 16);
  if (lane == 0) out[3] = picked;
  if (lane == 31) out[4] = picked;
  double far = __shfl_sync(0xffffffffu, lane + 9.25, 31);
  if (lane == 5) *wide = far;
}

int main() {
  float out[5];
  double wide;
  ::cotangent::launch(shuffle, 1, 32)(out, &wide);
  printf("down %g\nup %g\nxor %g\nindex %g %g\ndouble %g\n", out[0], out[1], out[2], out[3], out[4], wide);
}
