// cub::WarpReduce: the first lane gets the reduction of the values of Size
// neighbouring lanes.
#pragma once

#include "cotangent/cub/operators.cuh"
#include "cotangent/cub/types.cuh"
#include "cotangent/cub/lanes.cuh"

namespace cub {

template <class T, int Size = 32, int = 0>
class WarpReduce {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "the lanes are a power of two");
  static_assert(details::is_shuffled<T>::value, "only numbers are reduced");

 public:
  using TempStorage = NullType;
  explicit __device__ WarpReduce(TempStorage&) {}

  __device__ T Sum(T value) { return details::sum_lanes<Size, Size>(value, details::lane() % Size); }
  __device__ T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
  template <class Operation>
  __device__ T Reduce(T value, Operation operation) {
    return details::reduce_lanes<Size, Size>(value, details::lane() % Size, Size, operation);
  }
  template <class Operation>
  __device__ T Reduce(T value, Operation operation, int valid) {
    return details::reduce_lanes<Size, Size>(value, details::lane() % Size, valid, operation);
  }
};

}  // namespace cub
