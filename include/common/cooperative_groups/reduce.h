// cooperative_groups::reduce: every thread of the group gets the reduction of
// all values.
//
// A tile reduces by a butterfly from the largest distance to the smallest; a
// coalesced group by rank, first to last. The order is fixed because the
// result of a floating-point sum depends on it.
#pragma once

#include "cooperative_groups.h"
#include "cooperative_groups/operators.h"

namespace cooperative_groups {

template <unsigned int Size, class Parent, class T, class Operation>
inline __device__ T reduce(const thread_block_tile<Size, Parent>& tile, T value, Operation operation) {
  for (unsigned int distance = Size / 2; distance > 0; distance /= 2) {
    value = operation(value, tile.shfl_xor(value, distance));
  }
  return value;
}

template <class T, class Operation>
inline __device__ T reduce(const coalesced_group& group, T value, Operation operation) {
  T result = group.shfl(value, 0u);
  for (unsigned int rank = 1; rank < group.size(); ++rank) {
    result = operation(result, group.shfl(value, rank));
  }
  return result;
}

}  // namespace cooperative_groups
