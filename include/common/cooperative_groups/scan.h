// cooperative_groups::inclusive_scan and exclusive_scan: a thread gets the
// reduction of the values of all threads up to its own rank, itself included
// or not. The first thread's exclusive result is T().
#pragma once

#include "cooperative_groups.h"
#include "cooperative_groups/operators.h"

namespace cooperative_groups {

template <class Group, class T, class Operation>
inline __device__ T inclusive_scan(const Group& group, T value, Operation operation) {
  for (unsigned int distance = 1; distance < group.size(); distance *= 2) {
    T below = group.shfl_up(value, distance);
    if (group.thread_rank() >= distance) value = operation(below, value);
  }
  return value;
}
template <class Group, class T>
inline __device__ T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}

template <class Group, class T, class Operation>
inline __device__ T exclusive_scan(const Group& group, T value, Operation operation) {
  T below = group.shfl_up(inclusive_scan(group, value, operation), 1u);
  return group.thread_rank() == 0 ? T() : below;
}
template <class Group, class T>
inline __device__ T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
