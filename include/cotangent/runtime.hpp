// What derivatives call on the host. Every failure of the CUDA runtime goes through COTANGENT_CHECK, which throws
// std::runtime_error; define the macro before this header to do something else. C++17, header only.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <stdexcept>
#include <string>

#ifndef COTANGENT_CHECK
#define COTANGENT_CHECK(call) ::cotangent::check((call), #call)
#endif

namespace cotangent {

inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
  }
}

// Device memory for what a derivative keeps from one sweep to the other. None is needed for no bytes.
template <class T>
void allocate(T** pointer, std::size_t bytes, cudaStream_t stream = nullptr) {
  *pointer = nullptr;
  if (bytes > 0) COTANGENT_CHECK(cudaMallocAsync(pointer, bytes, stream));
}

template <class T>
void allocate_zeros(T** pointer, std::size_t bytes, cudaStream_t stream = nullptr) {
  allocate(pointer, bytes, stream);
  if (bytes > 0) COTANGENT_CHECK(cudaMemsetAsync(*pointer, 0, bytes, stream));
}

// Brings one value to the host, and waits for it.
template <class T>
void fetch(T* value, T* on_device, cudaStream_t stream = nullptr) {
  COTANGENT_CHECK(cudaMemcpyAsync(value, on_device, sizeof(T), cudaMemcpyDeviceToHost, stream));
  COTANGENT_CHECK(cudaStreamSynchronize(stream));
}

// Frees memory when the stream has come so far.
template <class T>
void release(T* pointer, cudaStream_t stream = nullptr) {
  if (pointer != nullptr) COTANGENT_CHECK(cudaFreeAsync(pointer, stream));
}

// Stops if a thread needed more slots of the record than --record-slots gave it.
inline void require_slots(unsigned int needed, unsigned int given) {
  if (needed > given) {
    throw std::runtime_error("the record is too small: a thread needs " + std::to_string(needed) +
                             " slots, and --record-slots says " + std::to_string(given));
  }
}

}  // namespace cotangent
