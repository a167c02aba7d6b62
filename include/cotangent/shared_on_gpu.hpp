// What derivatives of kernels with dynamic shared memory call on a GPU. It needs no other header, and stands in texts for NVRTC.
#pragma once

namespace cotangent {

// The bytes of dynamic shared memory that the launch asked for.
__device__ inline unsigned int dynamic_shared_bytes() {
  unsigned int bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
}

}  // namespace cotangent
