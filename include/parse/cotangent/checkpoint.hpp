// What a step of a host loop begins with, for parsing: the declaration of what include/cotangent/checkpoint.hpp defines.
#pragma once

#include <cuda_runtime.h>

#define COTANGENT_CHECKPOINT(array, count) ::cotangent::checkpoint(array, count)

namespace cotangent {

template <class T>
void checkpoint(const T* array, size_t count);

}  // namespace cotangent
