// What derivatives of kernels with dynamic shared memory call on the device, for parsing.
#pragma once

#include <cuda_runtime.h>

namespace cotangent {

__device__ unsigned int dynamic_shared_bytes();

}  // namespace cotangent
