// Cooperative groups: the block, tiles with their reduction, and the threads that are together.
// expect: tiles 20 28 36 44
// expect: together 32 16
// expect: rank 13 of 32, tile 1
#include <cuda_runtime.h>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

struct Results {
  int sums[4], whole, odd, rank, size, tile;
};

__global__ void work(Results* out, int extra) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  __shared__ int values[32];
  values[block.thread_rank()] = tile.meta_group_rank() + extra;
  block.sync();
  int sum = cg::reduce(tile, values[31 - block.thread_rank()], cg::plus<int>());
  if (tile.thread_rank() == 0) out->sums[3 - tile.meta_group_rank()] = sum + 4;
  cg::coalesced_group whole = cg::coalesced_threads();
  if (threadIdx.x == 0) out->whole = whole.size();
  if (threadIdx.x % 2 == 1) {
    cg::coalesced_group odd = cg::coalesced_threads();
    if (odd.thread_rank() == 0) out->odd = odd.size();
  }
  if (threadIdx.x == 13) out->rank = block.thread_rank(), out->size = block.size(), out->tile = tile.meta_group_rank();
}

int main() {
  Results* out;
  cudaMallocManaged(&out, sizeof(Results));
  ::cotangent::launch(work, 1, 32)(out, 2);
  printf("tiles %d %d %d %d\n", out->sums[0], out->sums[1], out->sums[2], out->sums[3]);
  printf("together %d %d\n", out->whole, out->odd);
  printf("rank %d of %d, tile %d\n", out->rank, out->size, out->tile);
}
