// Cooperative groups in the ways that programs use them.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__device__ int of_any_group(cg::thread_group group, int value) {
  group.sync();
  return static_cast<int>(group.size() + group.thread_rank()) + value;
}

template <int TileSize>
__device__ float tile_sum(cg::thread_block_tile<TileSize> tile, float value) {
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  return tile.shfl(value, 0);
}

// A group also exchanges structs, and reduces them with the program's own operation.
struct Statistics {
  float largest;
  double sum;
};
struct Combine {
  __device__ Statistics operator()(Statistics a, Statistics b) const {
    return {fmaxf(a.largest, b.largest), a.sum + b.sum};
  }
};

__global__ void groups(float* p) {
  cg::thread_block block = cg::this_thread_block();
  auto half_warp = cg::tiled_partition<16>(block);
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  auto quad = cg::tiled_partition<4>(half_warp);
  cg::sync(block);
  block.sync();
  warp.sync();

  float value = p[cg::this_grid().thread_rank()];
  value += half_warp.shfl_down(value, 4) + warp.shfl_xor(value, 1) + half_warp.shfl_up(value, 1);
  value += cg::reduce(half_warp, value, cg::plus<float>()) + cg::inclusive_scan(half_warp, value);
  value += cg::exclusive_scan(warp, value, cg::greater<float>()) + tile_sum<32>(warp, value);
  if (warp.any(value > 1) && !warp.all(value > 2)) value += static_cast<float>(warp.ballot(value > 3));

  auto together = cg::coalesced_threads();
  if (together.thread_rank() == 0) p[0] = value;
  value += cg::reduce(together, value, cg::less<float>()) + together.shfl(value, 0);
  auto positive = cg::binary_partition(warp, value > 0);
  auto like_me = cg::labeled_partition(together, static_cast<int>(threadIdx.x % 3));

  Statistics statistics = cg::reduce(warp, Statistics{value, value}, Combine());
  p[4] = statistics.largest + static_cast<float>(statistics.sum) + warp.shfl(make_float2(1, value), 3).y;

  auto eight = cg::tiled_partition(block, 8);
  p[1] = static_cast<float>(of_any_group(block, 1) + of_any_group(half_warp, 2) + of_any_group(eight, 3));
  p[2] = static_cast<float>(quad.meta_group_rank() + warp.meta_group_size() + positive.size() + like_me.size());
  p[3] = static_cast<float>(block.group_index().x + block.thread_index().x + block.group_dim().y);
}
