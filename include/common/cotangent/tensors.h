// What a kernel needs of PyTorch where the library itself is not there: the check
// compiles kernels for the CPU, in a text without it.
#pragma once

#include <cstdint>

namespace at {

template <typename T>
struct DefaultPtrTraits {
  typedef T* PtrType;
};

template <typename T>
struct RestrictPtrTraits {
  typedef T* __restrict__ PtrType;
};

}  // namespace at

#include <cotangent/accessors.h>

namespace torch {
using namespace at;
}
