// What reductions and scans of CUB are made of: CUDA's plain shuffles and
// barriers, so that the front end lowers them like any class of the user's.
// They need the barriers that CUB's documentation asks for, and no others;
// sums may differ from NVIDIA's in their last bits.
#pragma once

#include "cooperative_groups.h"

namespace cub {
namespace details {

// The position of a thread in a block whose extents are known; x runs fastest.
template <int X, int Y, int Z>
inline __device__ int rank() {
  if constexpr (Y == 1 && Z == 1) {
    return static_cast<int>(threadIdx.x);
  } else {
    return static_cast<int>((threadIdx.z * Y + threadIdx.y) * X + threadIdx.x);
  }
}

inline __device__ int lane() { return static_cast<int>(cooperative_groups::details::lane()); }

// Whether shuffles carry a T; all else goes through memory.
template <class T>
struct is_shuffled {
  static constexpr bool value =
      cooperative_groups::details::is_plain<cooperative_groups::details::shuffle_down, T>::value;
};

// How far the lanes of a warp reach in a block of Threads: a power of two.
template <int Threads>
struct reach {
  static constexpr int value =
      Threads > 16 ? 32 : Threads > 8 ? 16 : Threads > 4 ? 8 : Threads > 2 ? 4 : Threads > 1 ? 2 : 1;
};

// Threads are neighbours that are divided into warps, the last of which may
// not be full: `rank` is the position of one among them all.

// The lanes of this thread's warp.
template <int Threads>
inline __device__ unsigned int warp_of(int rank) {
  if constexpr (Threads % 32 == 0) {
    return 0xffffffffu;
  } else if constexpr (32 % Threads == 0) {
    return ((1u << Threads) - 1u) << (lane() / Threads * Threads);
  } else {
    return rank / 32 < Threads / 32 ? 0xffffffffu : (1u << (Threads % 32)) - 1u;
  }
}

// The first lane of each warp gets the sum of its values. What the others get
// is nobody's business.
template <int Threads, int Reach, class T>
inline __device__ T sum_lanes(T value, int rank) {
  unsigned int warp = warp_of<Threads>(rank);
  for (int distance = 1; distance < Reach; distance *= 2) {
    T above = __shfl_down_sync(warp, value, distance, Reach);
    if constexpr (Threads % 32 == 0 || Threads == Reach) {
      value += above;
    } else {
      if (rank % 32 + distance < Reach && rank + distance < Threads) value += above;
    }
  }
  return value;
}

// The first lane of each warp gets the reduction of its values, of which those
// of the first `valid` threads count, in their order.
template <int Reach, int Distance, class T, class Operation>
inline __device__ T reduce_step(unsigned int warp, T value, int rank, int valid, Operation operation) {
  if constexpr (Distance < Reach) {
    T above = __shfl_down_sync(warp, value, Distance, Reach);
    if (rank % 32 + Distance < Reach && rank + Distance < valid) value = operation(value, above);
  }
  return value;
}
template <int Threads, int Reach, class T, class Operation>
inline __device__ T reduce_lanes(T value, int rank, int valid, Operation operation) {
  unsigned int warp = warp_of<Threads>(rank);
  // Written out, so that a derivative keeps the values in registers.
  value = reduce_step<Reach, 1>(warp, value, rank, valid, operation);
  value = reduce_step<Reach, 2>(warp, value, rank, valid, operation);
  value = reduce_step<Reach, 4>(warp, value, rank, valid, operation);
  value = reduce_step<Reach, 8>(warp, value, rank, valid, operation);
  return reduce_step<Reach, 16>(warp, value, rank, valid, operation);
}

// Each lane gets the reduction of the values of its warp up to its own.
template <int Reach, int Distance, class T, class Operation>
inline __device__ T scan_step(unsigned int warp, T value, int rank, Operation operation) {
  if constexpr (Distance < Reach) {
    T below = __shfl_up_sync(warp, value, Distance, Reach);
    if (rank % 32 >= Distance) value = operation(below, value);
  }
  return value;
}
template <int Threads, int Reach, class T, class Operation>
inline __device__ T scan_lanes(T value, int rank, Operation operation) {
  unsigned int warp = warp_of<Threads>(rank);
  value = scan_step<Reach, 1>(warp, value, rank, operation);
  value = scan_step<Reach, 2>(warp, value, rank, operation);
  value = scan_step<Reach, 4>(warp, value, rank, operation);
  value = scan_step<Reach, 8>(warp, value, rank, operation);
  return scan_step<Reach, 16>(warp, value, rank, operation);
}

// The reduction of a thread's own values.
template <int Items, class T, class Operation>
inline __device__ T reduce_items(const T (&items)[Items], Operation operation) {
  T result = items[0];
  for (int i = 1; i < Items; ++i) result = operation(result, items[i]);
  return result;
}

}  // namespace details
}  // namespace cub
