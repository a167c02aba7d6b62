// The operations that CUB reduces and scans with. Of two equal values Max and
// Min give the first.
#pragma once

#include "cuda_runtime.h"

namespace cub {
namespace details {

struct sum {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct difference {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a - b;
  }
};
struct max_of {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct min_of {
  template <class T>
  __host__ __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct equal {
  template <class T>
  __host__ __device__ bool operator()(T a, T b) const {
    return a == b;
  }
};

// The pair with the larger (smaller) value; of two equal values, that with the
// smaller key.
struct arg_max {
  template <class Pair>
  __host__ __device__ Pair operator()(Pair a, Pair b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct arg_min {
  template <class Pair>
  __host__ __device__ Pair operator()(Pair a, Pair b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

}  // namespace details

// Derivatives bring their own operations, under names that CUB does not have.
using Sum = details::sum;
using Difference = details::difference;
using Max = details::max_of;
using Min = details::min_of;
using Equality = details::equal;
using ArgMax = details::arg_max;
using ArgMin = details::arg_min;

}  // namespace cub
