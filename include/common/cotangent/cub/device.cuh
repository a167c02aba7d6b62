// cub::DeviceReduce and cub::DeviceScan: reductions and scans of whole arrays by
// host code. To a reader they are declarations, whose calls are refused; on the
// CPU, where arrays of the device are plain memory, they are loops.
#pragma once

#include "cotangent/cub/operators.cuh"
#include "cuda_runtime.h"

namespace cub {
namespace details {

// How a call begins that is told no storage: it says how much it needs.
inline bool asks_for_size(void* storage, size_t& bytes) {
  if (storage != nullptr) return false;
  bytes = 1;
  return true;
}

}  // namespace details

#ifdef COTANGENT_CPU
#define COTANGENT_BODY(...)                                                \
  {                                                                        \
    if (details::asks_for_size(storage, bytes)) return cudaSuccess;        \
    __VA_ARGS__                                                            \
    return cudaSuccess;                                                    \
  }
#else
#define COTANGENT_BODY(...) ;
#endif

struct DeviceReduce {
  template <class In, class Out, class Operation, class T>
  static cudaError_t Reduce(void* storage, size_t& bytes, In in, Out out, int count, Operation operation, T initial,
                            cudaStream_t = nullptr)
      COTANGENT_BODY(T result = initial; for (int i = 0; i < count; ++i) result = operation(result, T(in[i]));
                     *out = result;)
  template <class In, class Out>
  static cudaError_t Sum(void* storage, size_t& bytes, In in, Out out, int count, cudaStream_t = nullptr)
      COTANGENT_BODY(auto result = *out; result = 0; for (int i = 0; i < count; ++i) result = result + in[i];
                     *out = result;)
  template <class In, class Out>
  static cudaError_t Max(void* storage, size_t& bytes, In in, Out out, int count, cudaStream_t = nullptr)
      COTANGENT_BODY(for (int i = 0; i < count; ++i) *out = i > 0 && !(*out < in[i]) ? *out : in[i];)
  template <class In, class Out>
  static cudaError_t Min(void* storage, size_t& bytes, In in, Out out, int count, cudaStream_t = nullptr)
      COTANGENT_BODY(for (int i = 0; i < count; ++i) *out = i > 0 && !(in[i] < *out) ? *out : in[i];)
};

struct DeviceScan {
  template <class In, class Out>
  static cudaError_t InclusiveSum(void* storage, size_t& bytes, In in, Out out, int count, cudaStream_t = nullptr)
      COTANGENT_BODY(auto sum = *out; sum = 0; for (int i = 0; i < count; ++i) out[i] = sum = sum + in[i];)
  template <class In, class Out>
  static cudaError_t ExclusiveSum(void* storage, size_t& bytes, In in, Out out, int count, cudaStream_t = nullptr)
      COTANGENT_BODY(auto sum = *out; sum = 0; for (int i = 0; i < count; ++i) {
        auto next = sum + in[i];
        out[i] = sum;
        sum = next;
      })
};
#undef COTANGENT_BODY

}  // namespace cub
