// cub::WarpScan: a lane gets the reduction of the values up to its own, itself
// included or not.
#pragma once

#include "cotangent/cub/operators.cuh"
#include "cotangent/cub/types.cuh"
#include "cotangent/cub/lanes.cuh"

namespace cub {

template <class T, int Size = 32, int = 0>
class WarpScan {
  static_assert(Size >= 1 && Size <= 32 && (Size & (Size - 1)) == 0, "the lanes are a power of two");
  static_assert(details::is_shuffled<T>::value, "only numbers are scanned");

 public:
  using TempStorage = NullType;
  explicit __device__ WarpScan(TempStorage&) {}

  __device__ void InclusiveSum(T value, T& result) { InclusiveScan(value, result, cub::Sum()); }
  __device__ void InclusiveSum(T value, T& result, T& total) { InclusiveScan(value, result, cub::Sum(), total); }
  __device__ void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T(0), cub::Sum()); }
  __device__ void ExclusiveSum(T value, T& result, T& total) {
    ExclusiveScan(value, result, T(0), cub::Sum(), total);
  }

  template <class Operation>
  __device__ void InclusiveScan(T value, T& result, Operation operation) {
    result = details::scan_lanes<Size, Size>(value, details::lane() % Size, operation);
  }
  template <class Operation>
  __device__ void InclusiveScan(T value, T& result, Operation operation, T& total) {
    InclusiveScan(value, result, operation);
    total = Broadcast(result, Size - 1);
  }
  template <class Operation>
  __device__ void ExclusiveScan(T value, T& result, T first, Operation operation) {
    T up_to = first;
    InclusiveScan(value, up_to, operation);
    T below = __shfl_up_sync(details::warp_of<Size>(details::lane()), up_to, 1, Size);
    result = details::lane() % Size == 0 ? first : operation(first, below);
  }
  template <class Operation>
  __device__ void ExclusiveScan(T value, T& result, T first, Operation operation, T& total) {
    ExclusiveScan(value, result, first, operation);
    total = Broadcast(operation(result, value), Size - 1);
  }

  __device__ T Broadcast(T value, int lane) {
    return __shfl_sync(details::warp_of<Size>(details::lane()), value, lane, Size);
  }
};

}  // namespace cub
