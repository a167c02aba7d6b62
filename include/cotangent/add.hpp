// What derivatives call to add to adjoints.
#pragma once

#include <cuda_runtime.h>

#ifndef COTANGENT_CPU
#include <cotangent/add_on_gpu.hpp>
#else

namespace cotangent {

// An addition of a device function that does not know its caller.
template <class T>
__device__ __forceinline__ void add_anywhere(T* address, T value) {
  atomicAdd(address, value);
}

// With checks it is looked at whether all threads of the block come, with one address.
COTANGENT_UNCHECKED inline void come_together(const void* address, CotangentSite site) {
  static thread_local const void* one;
  one = address;
  barrier(COTANGENT_BARRIER_PLAIN, 0, site);
  if (one != address) {
    api->assert_failed("all threads of a block add to one place", site.file, site.line, "cotangent::add_together");
  }
  barrier(COTANGENT_BARRIER_PLAIN, 0, site);
}

// Sums for the threads of a block, which run one after the other on one processor. With checks each adds by itself, so that its
// access is seen.
template <class T>
COTANGENT_UNCHECKED inline bool add_to_block_sum(T* address, T value) {
  if (api->checking) {
    return false;
  }
  if (block_sum.place == address) {
    block_sum.sum += value;
  } else {
    settle_block_sum();
    block_sum = {address, value, [](void* place, double sum) {
                   if (sum != 0) atomicAdd(static_cast<T*>(place), static_cast<T>(sum));
                 }};
  }
  return true;
}

// The addition of all threads of a block to one place.
template <class T>
COTANGENT_INLINE void add_together(T* address, T value, CotangentSite site = here()) {
  if (add_to_block_sum(address, value)) {
    return;
  }
  come_together(address, site);
  if (value != 0) {
    atomicAdd(address, value);
  }
}

}  // namespace cotangent

#endif
