// cub::BlockScan: a thread gets the reduction of the values of all threads up to
// its own, itself included or not.
#pragma once

#include "cotangent/cub/block_reduce.cuh"
#include "cotangent/cub/lanes.cuh"
#include "cotangent/cub/operators.cuh"

namespace cub {

// Ways to the same result; all are taken as the last.
enum BlockScanAlgorithm {
  BLOCK_SCAN_RAKING,
  BLOCK_SCAN_RAKING_MEMOIZE,
  BLOCK_SCAN_WARP_SCANS,
};

// Warps scan by themselves; then each thread adds what the warps before its own
// left in the storage.
template <class T, int X, BlockScanAlgorithm = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1, int = 0>
class BlockScan {
  static_assert(details::is_shuffled<T>::value, "only numbers are scanned");

 public:
  using TempStorage = details::block_storage<T, (X * Y * Z + 31) / 32>;
  explicit __device__ BlockScan(TempStorage& storage) : storage_(&storage) {}

  __device__ void InclusiveSum(T value, T& result) { InclusiveScan(value, result, cub::Sum()); }
  __device__ void InclusiveSum(T value, T& result, T& total) { InclusiveScan(value, result, cub::Sum(), total); }
  template <int Items>
  __device__ void InclusiveSum(T (&values)[Items], T (&results)[Items]) {
    InclusiveScan(values, results, cub::Sum());
  }
  template <int Items>
  __device__ void InclusiveSum(T (&values)[Items], T (&results)[Items], T& total) {
    InclusiveScan(values, results, cub::Sum(), total);
  }
  __device__ void ExclusiveSum(T value, T& result) { ExclusiveScan(value, result, T(0), cub::Sum()); }
  __device__ void ExclusiveSum(T value, T& result, T& total) {
    ExclusiveScan(value, result, T(0), cub::Sum(), total);
  }
  template <int Items>
  __device__ void ExclusiveSum(T (&values)[Items], T (&results)[Items]) {
    ExclusiveScan(values, results, T(0), cub::Sum());
  }
  template <int Items>
  __device__ void ExclusiveSum(T (&values)[Items], T (&results)[Items], T& total) {
    ExclusiveScan(values, results, T(0), cub::Sum(), total);
  }

  template <class Operation>
  __device__ void InclusiveScan(T value, T& result, Operation operation) {
    T up_to = within_warp(value, operation);
    int warp = details::rank<X, Y, Z>() / 32;
    result = warp == 0 ? up_to : operation(before(warp, operation), up_to);
  }
  template <class Operation>
  __device__ void InclusiveScan(T value, T& result, Operation operation, T& total) {
    InclusiveScan(value, result, operation);
    total = before((X * Y * Z + 31) / 32, operation);
  }
  template <int Items, class Operation>
  __device__ void InclusiveScan(T (&values)[Items], T (&results)[Items], Operation operation) {
    T up_to = details::reduce_items(values, operation);
    T below = preceding(up_to, operation);
    T sum = details::rank<X, Y, Z>() == 0 ? values[0] : operation(below, values[0]);
    results[0] = sum;
    for (int i = 1; i < Items; ++i) {
      sum = operation(sum, values[i]);
      results[i] = sum;
    }
  }
  template <int Items, class Operation>
  __device__ void InclusiveScan(T (&values)[Items], T (&results)[Items], Operation operation, T& total) {
    InclusiveScan(values, results, operation);
    total = before((X * Y * Z + 31) / 32, operation);
  }

  template <class Operation>
  __device__ void ExclusiveScan(T value, T& result, T first, Operation operation) {
    T below = preceding(value, operation);
    result = details::rank<X, Y, Z>() == 0 ? first : operation(first, below);
  }
  template <class Operation>
  __device__ void ExclusiveScan(T value, T& result, T first, Operation operation, T& total) {
    ExclusiveScan(value, result, first, operation);
    total = operation(first, before((X * Y * Z + 31) / 32, operation));
  }
  template <int Items, class Operation>
  __device__ void ExclusiveScan(T (&values)[Items], T (&results)[Items], T first, Operation operation) {
    T below = preceding(details::reduce_items(values, operation), operation);
    T sum = details::rank<X, Y, Z>() == 0 ? first : operation(first, below);
    for (int i = 0; i < Items; ++i) {
      T value = values[i];
      results[i] = sum;
      sum = operation(sum, value);
    }
  }
  template <int Items, class Operation>
  __device__ void ExclusiveScan(T (&values)[Items], T (&results)[Items], T first, Operation operation, T& total) {
    ExclusiveScan(values, results, first, operation);
    total = operation(first, before((X * Y * Z + 31) / 32, operation));
  }

 private:
  // The values up to this thread's in its warp. Afterwards the storage has the
  // reduction of each warp.
  template <class Operation>
  __device__ T within_warp(T value, Operation operation) {
    int rank = details::rank<X, Y, Z>();
    value = details::scan_lanes<X * Y * Z, details::reach<X * Y * Z>::value>(value, rank, operation);
    if (rank % 32 == 31 || rank == X * Y * Z - 1) storage_->values[rank / 32] = value;
    __syncthreads();
    return value;
  }

  // The reduction of the first warps, of which there is at least one.
  template <class Operation>
  __device__ T before(int count, Operation operation) {
    T sum = storage_->values[0];
    for (int warp = 1; warp < (X * Y * Z + 31) / 32; ++warp) {
      if (warp < count) sum = operation(sum, storage_->values[warp]);
    }
    return sum;
  }

  // The reduction of the values before this thread's; what thread 0 gets is
  // nobody's business.
  template <class Operation>
  __device__ T preceding(T value, Operation operation) {
    int rank = details::rank<X, Y, Z>();
    T up_to = within_warp(value, operation);
    T below = __shfl_up_sync(details::warp_of<X * Y * Z>(rank), up_to, 1, details::reach<X * Y * Z>::value);
    int warp = rank / 32;
    if (warp == 0) return below;
    T sum = before(warp, operation);
    return rank % 32 == 0 ? sum : operation(sum, below);
  }

  TempStorage* storage_;
};

}  // namespace cub
