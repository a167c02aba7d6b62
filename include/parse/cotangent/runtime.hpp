// What derivatives call on the host, for parsing: declarations of what include/cotangent/runtime.hpp defines. The library
// headers that the definitions need would be most of what Clang reads.
#pragma once

#include <cuda_runtime.h>

#ifndef COTANGENT_FAIL
#define COTANGENT_FAIL(message) (void)(message)
#endif
#ifndef COTANGENT_CHECK
#define COTANGENT_CHECK(call) ::cotangent::check((call), #call)
#endif

namespace cotangent {

void check(cudaError_t error, const char* call);
void check_launch();
template <auto Kernel>
void check_block(dim3 block, size_t shared = 0);

template <class T>
T* device_memory(size_t bytes);
template <class T>
T* device_zeros(size_t bytes);
template <class T>
T* managed_memory(size_t bytes);
template <class T>
T* managed_zeros(size_t bytes);
template <class T>
T* pinned_memory(size_t bytes);
template <class T>
T* pinned_zeros(size_t bytes);
template <class T>
T* host_memory(size_t bytes);
template <class T>
T* host_zeros(size_t bytes);
template <class T>
T* aligned_memory(size_t bytes, size_t alignment);
template <class T>
T* aligned_zeros(size_t bytes, size_t alignment);
template <class T>
T* array_memory(size_t bytes);
template <class T>
T* array_zeros(size_t bytes);
template <class T>
T* value_memory(size_t bytes);
template <class T>
T* value_zeros(size_t bytes);
template <class T>
T* vector_memory(size_t bytes);
template <class T>
T* vector_zeros(size_t bytes);
template <class T>
void free_vector(T* memory);
template <class T>
void free_array(T* memory);
template <class T>
void free_value(T* memory);
template <class T>
void free_device(T* memory);
template <class T>
void free_pinned(T* memory);
template <class T>
void free_host(T* memory);

class Frees {};
template <class T>
void free_device_later(Frees& frees, T* memory);
template <class T>
void free_pinned_later(Frees& frees, T* memory);
template <class T>
void free_host_later(Frees& frees, T* memory);
template <class T>
void free_array_later(Frees& frees, T* memory);
template <class T>
void free_value_later(Frees& frees, T* memory);

template <class T>
T* stream_memory(size_t bytes, cudaStream_t stream);
template <class T>
T* stream_zeros(size_t bytes, cudaStream_t stream);
template <class T>
T* uploaded(T* value, cudaStream_t stream);
void require_apart(const void* one, const void* other);
template <class T>
void allocate(T** pointer, size_t bytes, cudaStream_t stream = nullptr);
template <class T>
void allocate_zeros(T** pointer, size_t bytes, cudaStream_t stream = nullptr);
template <class T>
void release(T* pointer, cudaStream_t stream = nullptr);
template <class T>
void copy(T* into, const T* from, size_t bytes, cudaStream_t stream = nullptr);
template <class T>
T* copied(const T* from, size_t bytes, cudaStream_t stream = nullptr);
template <class T>
void release_copied(T* memory, cudaStream_t stream = nullptr);
template <class T>
void fetch(T* value, T* on_device, cudaStream_t stream = nullptr);
// Clang tells a type as it is spelled here, so with its namespace.
struct Snapshot;
cotangent::Snapshot* take_snapshot(const void* from, size_t bytes, cudaStream_t stream);
template <class T>
T* restored(Snapshot* snapshot, cudaStream_t stream);
void drop_snapshot(Snapshot* snapshot, cudaStream_t stream);
void require_slots(unsigned int needed, unsigned int given);

template <class T>
void add_copied(T* to, T* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
template <class T>
void add_copied_rows(T* to, size_t to_pitch, T* from, size_t from_pitch, size_t width, size_t height,
                     cudaMemcpyKind kind, cudaStream_t stream = nullptr);
template <class T>
void add_copied_at_once(T* to, T* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream = nullptr);
template <class T>
void add_copied_rows_at_once(T* to, size_t to_pitch, T* from, size_t from_pitch, size_t width, size_t height,
                             cudaMemcpyKind kind, cudaStream_t stream = nullptr);
template <class T>
void clear(T* adjoints, size_t bytes, cudaStream_t stream = nullptr);
template <class T>
void clear_rows(T* adjoints, size_t pitch, size_t width, size_t height, cudaStream_t stream = nullptr);
template <class T>
void clear_box(T* adjoints, cudaPitchedPtr like, cudaExtent extent, cudaStream_t stream = nullptr);

class Tape;
template <class T>
void push(Tape& tape, T value);
template <class T>
T pop(Tape& tape);
template <class T>
T* reserve(Tape& tape, long count);

class Tape {};

}  // namespace cotangent
