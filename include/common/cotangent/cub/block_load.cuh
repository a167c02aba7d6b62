// cub::BlockLoad and BlockStore: a block reads or writes a tile of an array, a
// thread Items neighbouring elements of it, or each Threads-th if it is striped.
#pragma once

#include "cotangent/cub/lanes.cuh"
#include "cotangent/cub/types.cuh"

namespace cub {

enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE };

template <int Items, class T, class Source>
inline __device__ void LoadDirectBlocked(int rank, const Source* source, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) items[i] = source[rank * Items + i];
}
template <int Threads, int Items, class T, class Source>
inline __device__ void LoadDirectStriped(int rank, const Source* source, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) items[i] = source[rank + i * Threads];
}
template <int Items, class T, class Target>
inline __device__ void StoreDirectBlocked(int rank, Target* target, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) target[rank * Items + i] = items[i];
}
template <int Threads, int Items, class T, class Target>
inline __device__ void StoreDirectStriped(int rank, Target* target, T (&items)[Items]) {
  for (int i = 0; i < Items; ++i) target[rank + i * Threads] = items[i];
}

template <class T, int X, int Items, BlockLoadAlgorithm Algorithm = BLOCK_LOAD_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockLoad {
 public:
  using TempStorage = NullType;
  explicit __device__ BlockLoad(TempStorage&) {}
  __device__ BlockLoad() {}

  __device__ void Load(const T* source, T (&items)[Items]) {
    for (int i = 0; i < Items; ++i) items[i] = source[index(i)];
  }
  __device__ void Load(const T* source, T (&items)[Items], int valid) {
    for (int i = 0; i < Items; ++i) {
      if (index(i) < valid) items[i] = source[index(i)];
    }
  }
  __device__ void Load(const T* source, T (&items)[Items], int valid, T beyond) {
    for (int i = 0; i < Items; ++i) items[i] = index(i) < valid ? source[index(i)] : beyond;
  }

 private:
  static __device__ int index(int i) {
    int rank = details::rank<X, Y, Z>();
    return Algorithm == BLOCK_LOAD_STRIPED ? rank + i * X * Y * Z : rank * Items + i;
  }
};

template <class T, int X, int Items, BlockStoreAlgorithm Algorithm = BLOCK_STORE_DIRECT, int Y = 1, int Z = 1, int = 0>
class BlockStore {
 public:
  using TempStorage = NullType;
  explicit __device__ BlockStore(TempStorage&) {}
  __device__ BlockStore() {}

  __device__ void Store(T* target, T (&items)[Items]) {
    for (int i = 0; i < Items; ++i) target[index(i)] = items[i];
  }
  __device__ void Store(T* target, T (&items)[Items], int valid) {
    for (int i = 0; i < Items; ++i) {
      if (index(i) < valid) target[index(i)] = items[i];
    }
  }

 private:
  static __device__ int index(int i) {
    int rank = details::rank<X, Y, Z>();
    return Algorithm == BLOCK_STORE_STRIPED ? rank + i * X * Y * Z : rank * Items + i;
  }
};

}  // namespace cub
