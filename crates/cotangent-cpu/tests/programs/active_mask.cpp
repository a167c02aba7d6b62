// Lanes of one branch that ask for the active mask together see each other.
// expect: aaaaaaaa 55555555
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void ask(unsigned* out) {
  if (threadIdx.x % 2 == 1) {
    out[0] = __activemask();
  } else {
    out[1] = __activemask();
  }
}

int main() {
  unsigned out[2];
  ::cotangent::launch(ask, 1, 32)(out);
  printf("%x %x\n", out[0], out[1]);
}
