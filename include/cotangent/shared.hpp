// What derivatives of kernels with dynamic shared memory call on the device.
//
// The adjoints lie after the values: a derivative is launched with twice the dynamic shared memory that the kernel needs,
// and each half begins at a multiple of 16 bytes.
#pragma once

#ifdef COTANGENT_CPU
#include "cotangent/thread.hpp"
#else
#include <cotangent/shared_on_gpu.hpp>
#endif
