// What derivatives of kernels with dynamic shared memory call on the device.
//
// The adjoints lie after the values: a derivative is launched with twice the dynamic shared memory that the kernel needs,
// and each half begins at a multiple of 16 bytes.
#pragma once

#ifdef COTANGENT_CPU
#include "cotangent/thread.hpp"
#else

namespace cotangent {

// The bytes of dynamic shared memory that the launch asked for.
__device__ inline unsigned int dynamic_shared_bytes() {
  unsigned int bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

}  // namespace cotangent

#endif
