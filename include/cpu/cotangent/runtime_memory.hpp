// The runtime API's memory: allocation, copies, fills, symbols, and questions about pointers.
#pragma once

#include <driver_types.h>

#include "cotangent/thread.hpp"

namespace cotangent {

inline cudaError_t error(int32_t code) { return static_cast<cudaError_t>(code); }

template <class T>
cudaError_t allocate(T** pointer, size_t size, CotangentMemory memory, CotangentSite site) {
  return error(api->allocate(reinterpret_cast<void**>(pointer), size, memory, site));
}

// Bytes between two rows of pitched memory: a multiple of this.
constexpr size_t pitch_alignment = 512;

}  // namespace cotangent

template <class T>
cudaError_t cudaMalloc(T** pointer, size_t size, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_DEVICE, site);
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t size, unsigned int = cudaMemAttachGlobal,
                              CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_MANAGED, site);
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t size, unsigned int = 0, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_PINNED, site);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t size, unsigned int, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_PINNED, site);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t size, cudaStream_t, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_DEVICE, site);
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height,
                            CotangentSite site = ::cotangent::here()) {
  *pitch = (width + ::cotangent::pitch_alignment - 1) / ::cotangent::pitch_alignment * ::cotangent::pitch_alignment;
  return ::cotangent::allocate(pointer, *pitch * height, COTANGENT_MEMORY_DEVICE, site);
}

inline cudaError_t cudaFree(void* pointer, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->release(pointer, COTANGENT_MEMORY_DEVICE, site));
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t, CotangentSite site = ::cotangent::here()) {
  return cudaFree(pointer, site);
}
inline cudaError_t cudaFreeHost(void* pointer, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->release(pointer, COTANGENT_MEMORY_PINNED, site));
}

// All host memory is as good as pinned here.
inline cudaError_t cudaHostRegister(void*, size_t, unsigned int) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int) {
  *device = static_cast<T*>(host);
  return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void*, size_t, int, cudaStream_t = 0) { return cudaSuccess; }
inline cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, int) { return cudaSuccess; }

inline cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  uint64_t free_bytes = 0, total_bytes = 0;
  const int32_t code = ::cotangent::api->memory_info(&free_bytes, &total_bytes);
  *free = free_bytes;
  *total = total_bytes;
  return ::cotangent::error(code);
}

inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  CotangentPointer found{};
  const int32_t code = ::cotangent::api->pointer(&found, pointer);
  void* address = const_cast<void*>(pointer);
  const bool host = found.kind != COTANGENT_MEMORY_DEVICE;
  const bool device = found.kind != ~0u;
  attributes->type = found.kind == COTANGENT_MEMORY_DEVICE    ? cudaMemoryTypeDevice
                     : found.kind == COTANGENT_MEMORY_MANAGED ? cudaMemoryTypeManaged
                     : found.kind == COTANGENT_MEMORY_PINNED  ? cudaMemoryTypeHost
                                                              : cudaMemoryTypeUnregistered;
  attributes->device = device ? 0 : -2;
  attributes->devicePointer = device ? address : nullptr;
  attributes->hostPointer = host ? address : nullptr;
  return ::cotangent::error(code);
}

inline cudaError_t cudaMemset(void* to, int byte, size_t size, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->fill(to, byte, size, site));
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, size_t size, cudaStream_t stream = 0,
                                   CotangentSite site = ::cotangent::here()) {
  ::cotangent::api->on_stream(stream);
  return cudaMemset(to, byte, size, site);
}
inline cudaError_t cudaMemset2D(void* to, size_t pitch, int byte, size_t width, size_t height,
                                CotangentSite site = ::cotangent::here()) {
  cudaError_t result = cudaSuccess;
  for (size_t row = 0; row < height && result == cudaSuccess; ++row) {
    result = cudaMemset(static_cast<char*>(to) + row * pitch, byte, width, site);
  }
  return result;
}
inline cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t = 0, CotangentSite site = ::cotangent::here()) {
  return cudaMemset2D(to, pitch, byte, width, height, site);
}

inline cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                              CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->copy(to, from, size, kind, site));
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                                   cudaStream_t stream = 0, CotangentSite site = ::cotangent::here()) {
  ::cotangent::api->on_stream(stream);
  return cudaMemcpy(to, from, size, kind, site);
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(
      ::cotangent::api->copy_2d(to, to_pitch, from, from_pitch, width, height, kind, site));
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0,
                                     CotangentSite site = ::cotangent::here()) {
  ::cotangent::api->on_stream(stream);
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind, site);
}
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t size,
                                  CotangentSite site = ::cotangent::here()) {
  return cudaMemcpy(to, from, size, cudaMemcpyDeviceToDevice, site);
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t size, cudaStream_t = 0,
                                       CotangentSite site = ::cotangent::here()) {
  return cudaMemcpy(to, from, size, cudaMemcpyDeviceToDevice, site);
}

namespace cotangent {

// The place in a symbol that a copy means. A symbol becomes known here if it is not yet, so that
// copies work in static constructors as well.
template <class T>
char* in_symbol(const T& symbol, size_t offset) {
  const void* address = __builtin_addressof(symbol);
  api->symbol(address, sizeof(T), nullptr, COTANGENT_SPACE_DEVICE);
  return static_cast<char*>(const_cast<void*>(address)) + offset;
}

}  // namespace cotangent

template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, size_t size, size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                               CotangentSite site = ::cotangent::here()) {
  return cudaMemcpy(::cotangent::in_symbol(symbol, offset), from, size, kind, site);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, size_t size, size_t offset = 0,
                                    cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t stream = 0,
                                    CotangentSite site = ::cotangent::here()) {
  ::cotangent::api->on_stream(stream);
  return cudaMemcpyToSymbol(symbol, from, size, offset, kind, site);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t size, size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                 CotangentSite site = ::cotangent::here()) {
  return cudaMemcpy(to, ::cotangent::in_symbol(symbol, offset), size, kind, site);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, size_t size, size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t stream = 0,
                                      CotangentSite site = ::cotangent::here()) {
  ::cotangent::api->on_stream(stream);
  return cudaMemcpyFromSymbol(to, symbol, size, offset, kind, site);
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
  *pointer = ::cotangent::in_symbol(symbol, 0);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolSize(size_t* size, const T&) {
  *size = sizeof(T);
  return cudaSuccess;
}

inline cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width, size_t height) {
  return {pointer, pitch, width, height};
}
inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
