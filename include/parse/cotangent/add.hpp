// What derivatives of device functions call to add to adjoints, for parsing.
#pragma once

#include <cuda_runtime.h>

namespace cotangent {

template <class T>
__device__ void add_anywhere(T* address, T value);

}  // namespace cotangent
