// The runtime API's memory: allocation, copies, fills, symbols, and questions about pointers.
#pragma once

#include <driver_types.h>

#include "cotangent/thread.hpp"

namespace cotangent {

inline cudaError_t error(int32_t code) { return static_cast<cudaError_t>(code); }

// What the host waits for, in the default stream.
inline CotangentRequest waited_for(CotangentSite site) { return {stream_of(nullptr), 0, site}; }

// What the host does not wait for.
inline CotangentRequest on_stream(cudaStream_t stream, CotangentSite site) { return {stream_of(stream), 1, site}; }

template <class T>
cudaError_t allocate(T** pointer, size_t size, CotangentMemory memory, CotangentRequest request) {
  return error(api->allocate(static_cast<void**>(static_cast<void*>(pointer)), size, memory, request));
}

inline cudaError_t copy(void* to, const void* from, size_t size, cudaMemcpyKind kind, CotangentRequest request) {
  return error(api->copy(to, size, from, size, size, 1, kind, request));
}

inline cudaError_t fill(void* to, size_t pitch, int byte, size_t width, size_t height, CotangentRequest request) {
  return error(api->fill(to, pitch, byte, width, height, request));
}

inline cudaError_t fill_box(cudaPitchedPtr to, int byte, cudaExtent extent, CotangentRequest request) {
  for (size_t layer = 0; layer < extent.depth; ++layer) {
    char* first = static_cast<char*>(to.ptr) + layer * to.pitch * to.ysize;
    cudaError_t failed = fill(first, to.pitch, byte, extent.width, extent.height, request);
    if (failed != cudaSuccess) return failed;
  }
  return cudaSuccess;
}

// Bytes between two rows of pitched memory: a multiple of this.
constexpr size_t pitch_alignment = 512;

}  // namespace cotangent

template <class T>
cudaError_t cudaMalloc(T** pointer, size_t size, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_DEVICE, ::cotangent::waited_for(site));
}
template <class T>
cudaError_t cudaMallocManaged(T** pointer, size_t size, unsigned int = cudaMemAttachGlobal,
                              CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_MANAGED, ::cotangent::waited_for(site));
}
template <class T>
cudaError_t cudaMallocHost(T** pointer, size_t size, unsigned int = 0, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_PINNED, ::cotangent::waited_for(site));
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, size_t size, unsigned int, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_PINNED, ::cotangent::waited_for(site));
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, size_t size, cudaStream_t stream, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::allocate(pointer, size, COTANGENT_MEMORY_DEVICE, ::cotangent::on_stream(stream, site));
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height,
                            CotangentSite site = ::cotangent::here()) {
  *pitch = (width + ::cotangent::pitch_alignment - 1) / ::cotangent::pitch_alignment * ::cotangent::pitch_alignment;
  return ::cotangent::allocate(pointer, *pitch * height, COTANGENT_MEMORY_DEVICE, ::cotangent::waited_for(site));
}

inline cudaError_t cudaFree(void* pointer, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->release(pointer, COTANGENT_MEMORY_DEVICE, ::cotangent::waited_for(site)));
}
inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream, CotangentSite site = ::cotangent::here()) {
  const CotangentRequest request = ::cotangent::on_stream(stream, site);
  return ::cotangent::error(::cotangent::api->release(pointer, COTANGENT_MEMORY_DEVICE, request));
}
inline cudaError_t cudaFreeHost(void* pointer, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->release(pointer, COTANGENT_MEMORY_PINNED, ::cotangent::waited_for(site)));
}

// All host memory is as good as pinned here.
inline cudaError_t cudaHostRegister(void*, size_t, unsigned int) { return cudaSuccess; }
inline cudaError_t cudaHostUnregister(void*) { return cudaSuccess; }
template <class T>
cudaError_t cudaHostGetDevicePointer(T** device, void* host, unsigned int) {
  *device = static_cast<T*>(host);
  return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t size, int device, cudaStream_t stream = 0,
                                        CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->prefetch(pointer, size, device, ::cotangent::on_stream(stream, site)));
}
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
  return ::cotangent::fill(to, size, byte, size, 1, ::cotangent::waited_for(site));
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, size_t size, cudaStream_t stream = 0,
                                   CotangentSite site = ::cotangent::here()) {
  return ::cotangent::fill(to, size, byte, size, 1, ::cotangent::on_stream(stream, site));
}
inline cudaError_t cudaMemset2D(void* to, size_t pitch, int byte, size_t width, size_t height,
                                CotangentSite site = ::cotangent::here()) {
  return ::cotangent::fill(to, pitch, byte, width, height, ::cotangent::waited_for(site));
}
inline cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int byte, size_t width, size_t height,
                                     cudaStream_t stream = 0, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::fill(to, pitch, byte, width, height, ::cotangent::on_stream(stream, site));
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr to, int byte, cudaExtent extent, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::fill_box(to, byte, extent, ::cotangent::waited_for(site));
}
inline cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int byte, cudaExtent extent, cudaStream_t stream = 0,
                                     CotangentSite site = ::cotangent::here()) {
  return ::cotangent::fill_box(to, byte, extent, ::cotangent::on_stream(stream, site));
}

inline cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                              CotangentSite site = ::cotangent::here()) {
  return ::cotangent::copy(to, from, size, kind, ::cotangent::waited_for(site));
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind,
                                   cudaStream_t stream = 0, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::copy(to, from, size, kind, ::cotangent::on_stream(stream, site));
}
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                size_t height, cudaMemcpyKind kind, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->copy(to, to_pitch, from, from_pitch, width, height, kind,
                                                   ::cotangent::waited_for(site)));
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0,
                                     CotangentSite site = ::cotangent::here()) {
  return ::cotangent::error(::cotangent::api->copy(to, to_pitch, from, from_pitch, width, height, kind,
                                                   ::cotangent::on_stream(stream, site)));
}
inline cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t size,
                                  CotangentSite site = ::cotangent::here()) {
  return ::cotangent::copy(to, from, size, cudaMemcpyDeviceToDevice, ::cotangent::waited_for(site));
}
inline cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t size, cudaStream_t stream = 0,
                                       CotangentSite site = ::cotangent::here()) {
  return ::cotangent::copy(to, from, size, cudaMemcpyDeviceToDevice, ::cotangent::on_stream(stream, site));
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
  return ::cotangent::copy(::cotangent::in_symbol(symbol, offset), from, size, kind,
                           ::cotangent::on_stream(stream, site));
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
  return ::cotangent::copy(to, ::cotangent::in_symbol(symbol, offset), size, kind,
                           ::cotangent::on_stream(stream, site));
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
