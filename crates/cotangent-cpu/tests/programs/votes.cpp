// Votes, matches and reductions of a warp, and two halves of a warp with masks of their own.
// expect: ballot 11111111 any 1 all 0
// expect: match 49249249 all 0
// expect: reduce 496 -31 31 ff
// expect: halves 120 376
#include <cotangent/cpu.hpp>
#include <stdio.h>

__global__ void vote(unsigned* out) {
  int lane = threadIdx.x;
  unsigned ballot = __ballot_sync(0xffffffffu, lane % 4 == 0);
  int any = __any_sync(0xffffffffu, lane == 9);
  int all = __all_sync(0xffffffffu, lane != 9);
  unsigned match = __match_any_sync(0xffffffffu, lane % 3);
  int equal;
  unsigned everyone = __match_all_sync(0xffffffffu, lane / 16, &equal);
  int sum = __reduce_add_sync(0xffffffffu, lane);
  int low = __reduce_min_sync(0xffffffffu, -lane);
  unsigned high = __reduce_max_sync(0xffffffffu, unsigned(lane));
  unsigned bits = __reduce_or_sync(0xffffffffu, 1u << (lane % 8));
  if (lane == 3) {
    out[0] = ballot, out[1] = any, out[2] = all, out[3] = match & 0x7fffffffu, out[4] = everyone + equal;
    out[5] = sum, out[6] = low, out[7] = high, out[8] = bits;
  }
  unsigned mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  int half = __reduce_add_sync(mask, lane);
  if (lane % 16 == 0) out[9 + lane / 16] = half;
}

int main() {
  unsigned out[11];
  ::cotangent::launch(vote, 1, 32)(out);
  printf("ballot %x any %d all %d\n", out[0], out[1], out[2]);
  printf("match %x all %d\n", out[3], out[4]);
  printf("reduce %d %d %u %x\n", out[5], out[6], out[7], out[8]);
  printf("halves %d %d\n", out[9], out[10]);
}
