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
  if (!api->checking) {
    return;
  }
  static thread_local const void* one;
  one = address;
  barrier(COTANGENT_BARRIER_PLAIN, 0, site);
  if (one != address) {
    api->assert_failed("all threads of a block add to one place", site.file, site.line, "cotangent::add_together");
  }
  barrier(COTANGENT_BARRIER_PLAIN, 0, site);
}

// The addition of all threads of a block to one place: here they run one after the other, and each adds.
template <class T>
COTANGENT_INLINE void add_together(T* address, T value, CotangentSite site = here()) {
  come_together(address, site);
  if (value != 0) {
    atomicAdd(address, value);
  }
}

}  // namespace cotangent

#endif
