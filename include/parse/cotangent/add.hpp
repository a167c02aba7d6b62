// What derivatives call to add to adjoints, for parsing.
#pragma once

#include <cuda_runtime.h>

namespace cotangent {

template <class T>
__device__ void add_anywhere(T* address, T value);

template <class T>
__device__ void add_together(T* address, T value);

}  // namespace cotangent
