// cub::BlockReduce: thread 0 gets the reduction of the values of all threads.
// What the other threads get is undefined, as with CUB.
#pragma once

#include "cotangent/cub/operators.cuh"
#include "cotangent/cub/lanes.cuh"

namespace cub {

// Ways to the same result; all are taken as the last.
enum BlockReduceAlgorithm {
  BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY,
  BLOCK_REDUCE_RAKING,
  BLOCK_REDUCE_WARP_REDUCTIONS,
};

namespace details {

template <class T, int Count>
struct block_storage {
  T values[Count];
};

// By warps, whose results one thread reduces. The one barrier is between the
// stores to the storage and the loads from it.
template <class T, int Threads, bool Shuffled>
struct reduce_block {
  static constexpr int count = (Threads + 31) / 32;

  static __device__ T sum(block_storage<T, (Threads + 31) / 32>* storage, T value, int rank) {
    value = sum_lanes<Threads, reach<Threads>::value>(value, rank);
    if (rank % 32 == 0) storage->values[rank / 32] = value;
    __syncthreads();
    if (rank == 0) {
      for (int warp = 1; warp < (Threads + 31) / 32; ++warp) value += storage->values[warp];
    }
    return value;
  }
  template <class Operation>
  static __device__ T reduce(block_storage<T, (Threads + 31) / 32>* storage, T value, int rank, int valid,
                             Operation operation) {
    value = reduce_lanes<Threads, reach<Threads>::value>(value, rank, valid, operation);
    if (rank % 32 == 0) storage->values[rank / 32] = value;
    __syncthreads();
    if (rank == 0) {
      for (int warp = 1; warp < (Threads + 31) / 32; ++warp) {
        if (warp * 32 < valid) value = operation(value, storage->values[warp]);
      }
    }
    return value;
  }
};

// Through memory; one thread reduces all.
template <class T, int Threads>
struct reduce_block<T, Threads, false> {
  static constexpr int count = Threads;

  static __device__ T sum(block_storage<T, Threads>* storage, T value, int rank) {
    return reduce(storage, value, rank, Threads, cub::Sum());
  }
  template <class Operation>
  static __device__ T reduce(block_storage<T, Threads>* storage, T value, int rank, int valid, Operation operation) {
    storage->values[rank] = value;
    __syncthreads();
    if (rank == 0) {
      for (int other = 1; other < Threads; ++other) {
        if (other < valid) value = operation(value, storage->values[other]);
      }
    }
    return value;
  }
};

}  // namespace details

template <class T, int X, BlockReduceAlgorithm = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1, int = 0>
class BlockReduce {
  using Internal = details::reduce_block<T, X * Y * Z, details::is_shuffled<T>::value>;

 public:
  using TempStorage = details::block_storage<T, Internal::count>;
  explicit __device__ BlockReduce(TempStorage& storage) : storage_(&storage) {}

  __device__ T Sum(T value) { return Internal::sum(storage_, value, details::rank<X, Y, Z>()); }
  __device__ T Sum(T value, int valid) { return Reduce(value, cub::Sum(), valid); }
  template <int Items>
  __device__ T Sum(T (&values)[Items]) {
    return Sum(details::reduce_items(values, cub::Sum()));
  }

  template <class Operation>
  __device__ T Reduce(T value, Operation operation) {
    return Internal::reduce(storage_, value, details::rank<X, Y, Z>(), X * Y * Z, operation);
  }
  template <class Operation>
  __device__ T Reduce(T value, Operation operation, int valid) {
    return Internal::reduce(storage_, value, details::rank<X, Y, Z>(), valid, operation);
  }
  template <int Items, class Operation>
  __device__ T Reduce(T (&values)[Items], Operation operation) {
    return Reduce(details::reduce_items(values, operation), operation);
  }

 private:
  TempStorage* storage_;
};

}  // namespace cub
