// What derivatives call to add to adjoints, on a GPU. It needs no other header, and stands in texts for NVRTC.
#pragma once

namespace cotangent {

// An addition of a device function that does not know its caller: an adjoint may lie in memory that threads share, where
// only an atomic addition is right, or be a variable of the thread's own, for which a GPU has no atomics. Where nvcc sees
// the caller, one of the ways is left.
template <class T>
__device__ __forceinline__ void add_anywhere(T* address, T value) {
  if (__isLocal(address)) {
    *address += value;
    return;
  }
  // Written so that nvcc does not follow the address: it warns of atomics on local memory where none is reached.
  size_t place;
  if (__isGlobal(address)) {
    asm("cvta.to.global.u64 %0, %1;" : "=l"(place) : "l"(address));
    atomicAdd(static_cast<T*>(__cvta_global_to_generic(place)), value);
  } else {
    asm("cvta.to.shared.u64 %0, %1;" : "=l"(place) : "l"(address));
    atomicAdd(static_cast<T*>(__cvta_shared_to_generic(place)), value);
  }
}

// The sum of a value over the first lanes of a warp, in the first of them. All threads of the warp call it. The mask names
// lanes too that a smaller warp does not have; what they would give is not used.
template <class T>
__device__ __forceinline__ T sum_of_warp(T value, unsigned int lane, unsigned int lanes) {
  // Not unrolled: the code is three times as short, and a step waits for its shuffle anyway.
#pragma unroll 1
  for (unsigned int offset = 16; offset > 0; offset /= 2) {
    const T other = __shfl_down_sync(0xffffffffu, value, offset);
    if (lane + offset < lanes) {
      value += other;
    }
  }
  return value;
}

// Adds the sum of what all threads of a block give to one place: one atomic a block. All of them call it with the same
// address. Where the sum is zero nothing is added, and the place need not exist.
template <class T>
__device__ __forceinline__ void add_together(T* address, T value) {
  __shared__ T sums[32];
  const unsigned int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned int threads = blockDim.x * blockDim.y * blockDim.z;
  const unsigned int lane = thread % 32;
  const unsigned int left = threads - (thread - lane);
  value = sum_of_warp(value, lane, left < 32 ? left : 32);
  if (lane == 0) {
    sums[thread / 32] = value;
  }
  __syncthreads();
  if (thread < 32) {
    value = sum_of_warp(lane < (threads + 31) / 32 ? sums[lane] : T(0), lane, threads < 32 ? threads : 32);
    if (thread == 0 && value != T(0)) {
      atomicAdd(address, value);
    }
  }
  // The next call writes the sums again.
  __syncthreads();
}

}  // namespace cotangent
