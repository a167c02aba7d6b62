// What derivatives of device functions call to add to adjoints.
//
// Such a function does not know its caller: an adjoint may lie in memory that threads share, where only an atomic addition
// is right, or be a variable of the thread's own, for which a GPU has no atomics. Where nvcc sees the caller, one of the
// ways is left.
#pragma once

#include <cuda_runtime.h>

namespace cotangent {

template <class T>
__device__ __forceinline__ void add_anywhere(T* address, T value) {
#ifdef COTANGENT_CPU
  atomicAdd(address, value);
#else
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
#endif
}

}  // namespace cotangent
