// What a step of a host loop begins with, where nothing else says how large it is: the first `count` elements of an array.
// In the loop's body, one line an array. To every other compiler it is nothing. docs/checkpoints.md says what is checked.
//
//   for (int t = 0; t < steps; ++t) {
//     COTANGENT_CHECKPOINT(u, n);
//     step<<<blocks, 128>>>(u, n);
//   }
#pragma once

#include <cstddef>

#define COTANGENT_CHECKPOINT(array, count) ::cotangent::checkpoint(array, count)

namespace cotangent {

template <class T>
inline void checkpoint(const T* /*array*/, std::size_t /*count*/) {}

}  // namespace cotangent
