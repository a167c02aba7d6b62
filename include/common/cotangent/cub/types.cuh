// Small types that programs take from CUB.
#pragma once

#include "cuda_runtime.h"

namespace cub {

struct NullType {};

template <class Key, class Value>
struct KeyValuePair {
  using key_type = Key;
  using value_type = Value;
  Key key;
  Value value;
  KeyValuePair() = default;
  __host__ __device__ KeyValuePair(Key first, Value second) : key(first), value(second) {}
};

}  // namespace cub
