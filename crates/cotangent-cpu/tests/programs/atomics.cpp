// Atomics on all types, from many blocks on two OS threads.
// threads: 2
// expect: 65536 65536 65536 65536 32768
// expect: -65535 65535 0 7fffffff
// expect: 255 0 16 1000
#include <cotangent/cpu.hpp>
#include <stdio.h>

struct Totals {
  int sum;
  unsigned long long wide;
  float single;
  double twice;
  unsigned down;
  int low, high;
  unsigned bits_and, bits_or;
  unsigned wrapped, last;
  int exchanged;
  unsigned long long swapped;
};

__global__ void count(Totals* t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&t->sum, 1);
  atomicAdd(&t->wide, 1);
  atomicAdd(&t->single, 1);
  atomicAdd_block(&t->twice, 1.0f);
  if (i % 2 == 0) atomicSub(&t->down, 1u);
  atomicMin(&t->low, -i);
  atomicMax(&t->high, i);
  atomicAnd(&t->bits_and, ~(1u << (i % 32)));
  atomicOr(&t->bits_or, 1u << (i % 31));
  atomicInc(&t->wrapped, 255);
  atomicDec(&t->last, 255);
  if (i == 5) atomicExch(&t->exchanged, 16);
  unsigned long long seen = t->swapped, wanted;
  do {
    wanted = seen;
    seen = atomicCAS(&t->swapped, wanted, wanted < 1000 ? wanted + 1 : wanted);
  } while (seen != wanted);
}

int main() {
  Totals t{};
  t.down = 65536, t.bits_and = ~0u, t.wrapped = 255;
  ::cotangent::launch(count, 256, 256)(&t);
  printf("%d %llu %g %g %u\n", t.sum, t.wide, t.single, t.twice, t.down);
  printf("%d %d %x %x\n", t.low, t.high, t.bits_and, t.bits_or);
  printf("%u %u %d %llu\n", t.wrapped, t.last, t.exchanged, t.swapped);
}
