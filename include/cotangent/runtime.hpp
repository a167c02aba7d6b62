// What derivatives call on the host. Every failure of the CUDA runtime goes through COTANGENT_CHECK, and that and all else
// that cannot go on through COTANGENT_FAIL, which throws std::runtime_error; define either before this header to do
// something else. C++17, header only.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#ifndef COTANGENT_FAIL
#define COTANGENT_FAIL(message) throw std::runtime_error(message)
#endif
#ifndef COTANGENT_CHECK
#define COTANGENT_CHECK(call) ::cotangent::check((call), #call)
#endif

namespace cotangent {

// `cudaErrorInvalidValue (invalid argument)`.
inline std::string described(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")";
}

inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) {
    COTANGENT_FAIL(std::string(call) + ": " + described(error));
  }
}

// The name of a kernel, from what the compiler calls a function that has it as its template argument.
inline std::string kernel_name(const char* function) {
  std::string name = function;
  std::size_t begin = name.find("Kernel = ");
  if (begin == std::string::npos) return name;
  begin += std::strlen("Kernel = ");
  if (name[begin] == '&') ++begin;
  return "`" + name.substr(begin, name.find_first_of(";,]", begin) - begin) + "`";
}

// The kernel that a derivative has launched on this thread since errors were last looked at, as the compiler calls it.
inline const char*& unchecked_launch() {
  static thread_local const char* function = nullptr;
  return function;
}

// Whether errors that nobody has looked at are dropped. `cotangent check` drops them for a function that leaves one behind
// itself: it compares every number.
inline bool& drops_pending() {
  static bool drops = false;
  return drops;
}

// Stops if there is an error that nobody has looked at. One from before the derivative is none of its own, and stays where
// cudaGetLastError finds it.
inline void check_pending() {
  cudaError_t error = drops_pending() ? cudaSuccess : cudaPeekAtLastError();
  if (error == cudaSuccess) return;
  if (const char* function = unchecked_launch()) {
    unchecked_launch() = nullptr;
    COTANGENT_FAIL("launch of " + kernel_name(function) + " or after it: " + described(error));
  } else {
    COTANGENT_FAIL("an earlier call of CUDA has failed, before the derivative: " + described(error) +
                   ". Look at cudaGetLastError() after your own launches");
  }
}

// Stops if a launch of a derivative has failed.
inline void check_launch() {
  const char* function = unchecked_launch();
  unchecked_launch() = nullptr;
  cudaError_t error = drops_pending() ? cudaSuccess : cudaGetLastError();
  if (error != cudaSuccess) {
    COTANGENT_FAIL("launch of " + (function != nullptr ? kernel_name(function) : "a derivative") + ": " +
                   described(error));
  }
}

// Stops if no block of that size can run: the derivative of a kernel may need more registers and more shared memory than
// the kernel. More dynamic shared memory than a kernel has without asking is asked for.
template <auto Kernel>
void check_block(dim3 block, std::size_t shared = 0) {
#ifdef _MSC_VER
  const char* function = __FUNCSIG__;
#else
  const char* function = __PRETTY_FUNCTION__;
#endif
  check_pending();
  unchecked_launch() = function;
  cudaFuncAttributes attributes;
  COTANGENT_CHECK(cudaFuncGetAttributes(&attributes, Kernel));
  std::size_t threads = static_cast<std::size_t>(block.x) * block.y * block.z;
  std::size_t most = static_cast<std::size_t>(attributes.maxThreadsPerBlock);
  if (threads > most) {
    COTANGENT_FAIL(kernel_name(function) + " cannot run with " + std::to_string(threads) +
                   " threads in a block: its registers allow " + std::to_string(most) +
                   ". Launch smaller blocks, or give the kernel that it is the derivative of __launch_bounds__(" +
                   std::to_string(threads) + "), which the derivative keeps");
  }
  if (shared > static_cast<std::size_t>(attributes.maxDynamicSharedSizeBytes)) {
    int device = 0;
    int limit = 0;
    COTANGENT_CHECK(cudaGetDevice(&device));
    COTANGENT_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    std::size_t needed = shared + attributes.sharedSizeBytes;
    if (needed > static_cast<std::size_t>(limit)) {
      COTANGENT_FAIL(kernel_name(function) + " needs " + std::to_string(needed) +
                     " bytes of shared memory for a block, and the device has " + std::to_string(limit) +
                     ". Launch it with less, or with smaller blocks if that is what they depend on");
    } else {
      COTANGENT_CHECK(
          cudaFuncSetAttribute(Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)));
    }
  }
}

// Memory of each kind; none for no bytes. The second of each pair holds zeros.
template <class T>
T* device_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0) COTANGENT_CHECK(cudaMalloc(&memory, bytes));
  return static_cast<T*>(memory);
}
template <class T>
T* device_zeros(std::size_t bytes) {
  T* memory = device_memory<T>(bytes);
  if (bytes > 0) {
    COTANGENT_CHECK(cudaMemset(memory, 0, bytes));
    // For streams that do not wait for this one.
    COTANGENT_CHECK(cudaStreamSynchronize(nullptr));
  }
  return memory;
}
template <class T>
T* managed_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0) COTANGENT_CHECK(cudaMallocManaged(&memory, bytes));
  return static_cast<T*>(memory);
}
template <class T>
T* managed_zeros(std::size_t bytes) {
  T* memory = managed_memory<T>(bytes);
  if (bytes > 0) {
    COTANGENT_CHECK(cudaMemset(memory, 0, bytes));
    // For the host, and for streams that do not wait for this one.
    COTANGENT_CHECK(cudaStreamSynchronize(nullptr));
  }
  return memory;
}
template <class T>
T* pinned_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes > 0) COTANGENT_CHECK(cudaMallocHost(&memory, bytes));
  return static_cast<T*>(memory);
}
template <class T>
T* pinned_zeros(std::size_t bytes) {
  T* memory = pinned_memory<T>(bytes);
  if (bytes > 0) std::memset(static_cast<void*>(memory), 0, bytes);
  return memory;
}
template <class T>
T* host_memory(std::size_t bytes) {
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}
template <class T>
T* host_zeros(std::size_t bytes) {
  T* memory = host_memory<T>(bytes);
  std::memset(static_cast<void*>(memory), 0, bytes);
  return memory;
}
#ifndef _MSC_VER
// What `aligned_alloc` gives, which that compiler does not have.
template <class T>
T* aligned_memory(std::size_t bytes, std::size_t alignment) {
  const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void* memory = ::aligned_alloc(alignment, whole > 0 ? whole : alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<T*>(memory);
}
template <class T>
T* aligned_zeros(std::size_t bytes, std::size_t alignment) {
  T* memory = aligned_memory<T>(bytes, alignment);
  std::memset(static_cast<void*>(memory), 0, bytes);
  return memory;
}
#endif

// What `new T[n]` and `new T` make: whoever is given it may say `delete[]` and `delete`.
template <class T>
T* array_memory(std::size_t bytes) {
  return new T[bytes / sizeof(T)];
}
template <class T>
T* array_zeros(std::size_t bytes) {
  return new T[bytes / sizeof(T)]();
}
template <class T>
T* value_memory(std::size_t) {
  return new T;
}
template <class T>
T* value_zeros(std::size_t) {
  return new T();
}

// What a std::vector holds.
template <class T>
T* vector_memory(std::size_t bytes) {
  return array_memory<T>(bytes);
}
template <class T>
T* vector_zeros(std::size_t bytes) {
  return array_zeros<T>(bytes);
}

template <class T>
void free_vector(T* memory) {
  delete[] memory;
}
template <class T>
void free_array(T* memory) {
  delete[] memory;
}
template <class T>
void free_value(T* memory) {
  delete memory;
}
template <class T>
void free_device(T* memory) {
  COTANGENT_CHECK(cudaFree(const_cast<std::remove_const_t<T>*>(memory)));
}
template <class T>
void free_pinned(T* memory) {
  COTANGENT_CHECK(cudaFreeHost(const_cast<std::remove_const_t<T>*>(memory)));
}
template <class T>
void free_host(T* memory) {
  std::free(const_cast<std::remove_const_t<T>*>(memory));
}

// Memory that a program frees before the reverse sweep: it is freed when the derivative ends.
class Frees {
 public:
  Frees() = default;
  Frees(const Frees&) = delete;
  Frees& operator=(const Frees&) = delete;
  // A destructor must not throw: what fails here has failed before, or the next call of the runtime says so.
  ~Frees() {
    if (!kept_.empty()) (void)cudaDeviceSynchronize();
    for (const Kept& kept : kept_) kept.free(kept.memory);
  }
  void add(const void* memory, void (*free)(void*)) { kept_.push_back({const_cast<void*>(memory), free}); }

 private:
  struct Kept {
    void* memory;
    void (*free)(void*);
  };
  std::vector<Kept> kept_;
};

template <class T>
void free_device_later(Frees& frees, T* memory) {
  frees.add(memory, [](void* kept) { (void)cudaFree(kept); });
}
template <class T>
void free_pinned_later(Frees& frees, T* memory) {
  frees.add(memory, [](void* kept) { (void)cudaFreeHost(kept); });
}
template <class T>
void free_host_later(Frees& frees, T* memory) {
  frees.add(memory, [](void* kept) { std::free(kept); });
}
template <class T>
void free_array_later(Frees& frees, T* memory) {
  frees.add(memory, [](void* kept) { delete[] static_cast<T*>(kept); });
}
template <class T>
void free_value_later(Frees& frees, T* memory) {
  frees.add(memory, [](void* kept) { delete static_cast<T*>(kept); });
}

// Device memory for what a derivative keeps from one sweep to the other, in the order of a stream.
template <class T>
T* stream_memory(std::size_t bytes, cudaStream_t stream) {
  void* memory = nullptr;
  if (bytes > 0) COTANGENT_CHECK(cudaMallocAsync(&memory, bytes, stream));
  return static_cast<T*>(memory);
}
template <class T>
T* stream_zeros(std::size_t bytes, cudaStream_t stream) {
  T* memory = stream_memory<T>(bytes, stream);
  if (bytes > 0) COTANGENT_CHECK(cudaMemsetAsync(memory, 0, bytes, stream));
  return memory;
}
// A value in device memory.
template <class T>
T* uploaded(T* value, cudaStream_t stream) {
  T* memory = stream_memory<T>(sizeof(T), stream);
  COTANGENT_CHECK(cudaMemcpyAsync(memory, value, sizeof(T), cudaMemcpyHostToDevice, stream));
  return memory;
}
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
template <class T>
void release(T* pointer, cudaStream_t stream = nullptr) {
  if (pointer != nullptr) COTANGENT_CHECK(cudaFreeAsync(pointer, stream));
}

// A copy of an array: in device memory while there is some, then in pinned memory of the host.
struct Snapshot {
  std::size_t bytes;
  void* on_device;
  void* on_host;
};

// How much device memory copies hold now, and how much they may hold: the environment variable COTANGENT_SNAPSHOT_BYTES,
// else as much as there is.
inline std::atomic<std::size_t>& snapshot_bytes() {
  static std::atomic<std::size_t> bytes{0};
  return bytes;
}
inline std::size_t snapshot_limit() {
  static const char* const stated = std::getenv("COTANGENT_SNAPSHOT_BYTES");
  return stated != nullptr ? static_cast<std::size_t>(std::strtoull(stated, nullptr, 10)) : ~static_cast<std::size_t>(0);
}

// Copies an array as it is now.
inline Snapshot* take_snapshot(const void* from, std::size_t bytes, cudaStream_t stream) {
  auto* snapshot = new Snapshot{bytes, nullptr, nullptr};
  if (bytes == 0) return snapshot;
  check_pending();
  if (snapshot_bytes() + bytes <= snapshot_limit()) {
    cudaError_t error = cudaMallocAsync(&snapshot->on_device, bytes, stream);
    if (error != cudaErrorMemoryAllocation) {
      COTANGENT_CHECK(error);
      snapshot_bytes() += bytes;
      COTANGENT_CHECK(cudaMemcpyAsync(snapshot->on_device, from, bytes, cudaMemcpyDeviceToDevice, stream));
      return snapshot;
    }
    // It is no failure.
    cudaGetLastError();
    snapshot->on_device = nullptr;
  }
  COTANGENT_CHECK(cudaMallocHost(&snapshot->on_host, bytes));
  COTANGENT_CHECK(cudaMemcpyAsync(snapshot->on_host, from, bytes, cudaMemcpyDeviceToHost, stream));
  return snapshot;
}

// The array as it was, in device memory, until the copy is dropped.
template <class T>
T* restored(Snapshot* snapshot, cudaStream_t stream) {
  if (snapshot->on_host != nullptr && snapshot->on_device == nullptr) {
    COTANGENT_CHECK(cudaMallocAsync(&snapshot->on_device, snapshot->bytes, stream));
    COTANGENT_CHECK(
        cudaMemcpyAsync(snapshot->on_device, snapshot->on_host, snapshot->bytes, cudaMemcpyHostToDevice, stream));
  }
  return static_cast<T*>(snapshot->on_device);
}

inline void drop_snapshot(Snapshot* snapshot, cudaStream_t stream) {
  release(snapshot->on_device, stream);
  if (snapshot->on_host != nullptr) {
    // The copy may still be on its way.
    COTANGENT_CHECK(cudaStreamSynchronize(stream));
    COTANGENT_CHECK(cudaFreeHost(snapshot->on_host));
  } else {
    snapshot_bytes() -= snapshot->bytes;
  }
  delete snapshot;
}

// Brings one value to the host, and waits for it.
template <class T>
void fetch(T* value, T* on_device, cudaStream_t stream = nullptr) {
  COTANGENT_CHECK(cudaMemcpyAsync(value, on_device, sizeof(T), cudaMemcpyDeviceToHost, stream));
  COTANGENT_CHECK(cudaStreamSynchronize(stream));
}

// Stops if two arguments of a launch are one array: the derivative of the kernel takes them to be apart.
inline void require_apart(const void* one, const void* other) {
  if (one == other && one != nullptr) {
    COTANGENT_FAIL("two arguments of a launch are the same array, and its derivative takes them to be apart");
  }
}

// Stops if a thread needed more slots of the record than --record-slots gave it.
inline void require_slots(unsigned int needed, unsigned int given) {
  if (needed > given) {
    COTANGENT_FAIL("the record is too small: a thread needs " + std::to_string(needed) +
                   " slots, and --record-slots says " + std::to_string(given));
  }
}

// Whether kernels of other streams may add to the same numbers at the same time.
enum class Adds { alone, with_others };

// Adds numbers to others, and sets them to zero.
template <Adds adds, class T>
__global__ void add_and_clear(T* to, T* from, std::size_t count) {
  std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < count) {
    if constexpr (adds == Adds::alone) {
      to[i] += from[i];
    } else {
      atomicAdd(&to[i], from[i]);
    }
    from[i] = 0;
  }
}

template <Adds adds, class T>
void launch_add_and_clear(T* to, T* from, std::size_t count, cudaStream_t stream) {
  constexpr unsigned int threads = 256;
  if (count == 0) return;
  check_pending();
  unsigned int blocks = static_cast<unsigned int>((count + threads - 1) / threads);
#ifdef COTANGENT_CPU
  ::cotangent::launch(add_and_clear<adds, T>, dim3(blocks), dim3(threads), 0, stream)(to, from, count);
#else
  add_and_clear<adds, T><<<blocks, threads, 0, stream>>>(to, from, count);
#endif
  check_launch();
}

// What kind of memory a pointer is into.
inline cudaMemoryType memory_type(const void* memory) {
  cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    cudaGetLastError();
    return cudaMemoryTypeUnregistered;
  }
  return attributes.type;
}

// Whether the host must use memory itself: it is neither on the device nor managed.
inline bool is_on_host(const void* memory) {
  const cudaMemoryType type = memory_type(memory);
  return type != cudaMemoryTypeDevice && type != cudaMemoryTypeManaged;
}

// The reverse of a copy from what `to` is the adjoint of to what `from` is the adjoint of: adds `from` to `to`, and sets it
// to zero.
template <Adds adds = Adds::alone, class T>
void add_copied(T* to, T* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  // A copy onto itself changes nothing.
  if (to == from) return;
  std::size_t count = bytes / sizeof(T);
  bool to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  bool from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  if (kind == cudaMemcpyDefault) {
    to_host = is_on_host(to);
    from_host = is_on_host(from);
  }
  if (!to_host && !from_host) return launch_add_and_clear<adds>(to, from, count, stream);
  if (to_host) {
    std::vector<T> copy;
    T* values = from;
    if (!from_host) {
      copy.resize(count);
      values = copy.data();
      COTANGENT_CHECK(cudaMemcpyAsync(values, from, bytes, cudaMemcpyDeviceToHost, stream));
      COTANGENT_CHECK(cudaMemsetAsync(from, 0, bytes, stream));
    }
    COTANGENT_CHECK(cudaStreamSynchronize(stream));
    for (std::size_t i = 0; i < count; ++i) to[i] += values[i];
    if (from_host) std::memset(static_cast<void*>(from), 0, bytes);
    return;
  }
  T* copy = nullptr;
  allocate(&copy, bytes, stream);
  COTANGENT_CHECK(cudaMemcpyAsync(copy, from, bytes, cudaMemcpyHostToDevice, stream));
  launch_add_and_clear<adds>(to, copy, count, stream);
  release(copy, stream);
  COTANGENT_CHECK(cudaStreamSynchronize(stream));
  std::memset(static_cast<void*>(from), 0, bytes);
}

// The reverse of a copy that the host waits for: what came after it, in whichever stream, now comes first, and must be
// done. For copies within the device the host does not wait.
template <Adds adds = Adds::alone, class T>
void add_copied(T* to, T* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (kind != cudaMemcpyDeviceToDevice) COTANGENT_CHECK(cudaDeviceSynchronize());
  add_copied<adds>(to, from, bytes, kind, nullptr);
}

// The same of rows with a pitch in bytes each.
template <Adds adds = Adds::alone, class T>
void add_copied_rows(T* to, std::size_t to_pitch, T* from, std::size_t from_pitch, std::size_t width, std::size_t height,
                     cudaMemcpyKind kind, cudaStream_t stream) {
  for (std::size_t row = 0; row < height; ++row) {
    T* to_row = reinterpret_cast<T*>(reinterpret_cast<char*>(to) + row * to_pitch);
    T* from_row = reinterpret_cast<T*>(reinterpret_cast<char*>(from) + row * from_pitch);
    add_copied<adds>(to_row, from_row, width, kind, stream);
  }
}
template <Adds adds = Adds::alone, class T>
void add_copied_rows(T* to, std::size_t to_pitch, T* from, std::size_t from_pitch, std::size_t width, std::size_t height,
                     cudaMemcpyKind kind) {
  if (kind != cudaMemcpyDeviceToDevice) COTANGENT_CHECK(cudaDeviceSynchronize());
  add_copied_rows<adds>(to, to_pitch, from, from_pitch, width, height, kind, nullptr);
}

// Both where other streams may add to the same numbers at the same time.
template <class T, class... Stream>
void add_copied_at_once(T* to, T* from, std::size_t bytes, cudaMemcpyKind kind, Stream... stream) {
  add_copied<Adds::with_others>(to, from, bytes, kind, stream...);
}
template <class T, class... Stream>
void add_copied_rows_at_once(T* to, std::size_t to_pitch, T* from, std::size_t from_pitch, std::size_t width,
                             std::size_t height, cudaMemcpyKind kind, Stream... stream) {
  add_copied_rows<Adds::with_others>(to, to_pitch, from, from_pitch, width, height, kind, stream...);
}

// Sets adjoints to zero, wherever they are.
template <class T>
void clear(T* adjoints, std::size_t bytes, cudaStream_t stream = nullptr) {
  if (is_on_host(adjoints)) {
    COTANGENT_CHECK(cudaStreamSynchronize(stream));
    std::memset(static_cast<void*>(adjoints), 0, bytes);
  } else {
    COTANGENT_CHECK(cudaMemsetAsync(adjoints, 0, bytes, stream));
  }
}
// For one who brings cotangents that stay as they are: into other memory, or into new memory of the same kind.
template <class T>
void copy(T* into, const T* from, std::size_t bytes, cudaStream_t stream = nullptr) {
  if (bytes > 0) COTANGENT_CHECK(cudaMemcpyAsync(into, from, bytes, cudaMemcpyDefault, stream));
}
template <class T>
T* copied(const T* from, std::size_t bytes, cudaStream_t stream = nullptr) {
  if (bytes == 0) return nullptr;
  const cudaMemoryType type = memory_type(from);
  T* memory = type == cudaMemoryTypeDevice    ? stream_memory<T>(bytes, stream)
              : type == cudaMemoryTypeManaged ? managed_memory<T>(bytes)
                                              : host_memory<T>(bytes);
  copy(memory, from, bytes, stream);
  return memory;
}
template <class T>
void release_copied(T* memory, cudaStream_t stream = nullptr) {
  if (memory == nullptr) return;
  const cudaMemoryType type = memory_type(memory);
  if (type == cudaMemoryTypeDevice) return release(memory, stream);
  COTANGENT_CHECK(cudaStreamSynchronize(stream));
  type == cudaMemoryTypeManaged ? free_device(memory) : free_host(memory);
}

template <class T>
void clear_rows(T* adjoints, std::size_t pitch, std::size_t width, std::size_t height, cudaStream_t stream = nullptr) {
  for (std::size_t row = 0; row < height; ++row) {
    clear(reinterpret_cast<T*>(reinterpret_cast<char*>(adjoints) + row * pitch), width, stream);
  }
}

template <class T>
void clear_box(T* adjoints, cudaPitchedPtr like, cudaExtent extent, cudaStream_t stream = nullptr) {
  for (std::size_t layer = 0; layer < extent.depth; ++layer) {
    char* first = reinterpret_cast<char*>(adjoints) + layer * like.pitch * like.ysize;
    clear_rows(reinterpret_cast<T*>(first), like.pitch, extent.width, extent.height, stream);
  }
}

}  // namespace cotangent

#include <cotangent/host_tape.hpp>
