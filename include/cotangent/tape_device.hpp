// The tape library for arrays that lie in a GPU's memory: they go to the host and on to disk, and come back, beside what
// the GPU is computing. C++17, with the CUDA runtime that the program itself uses. docs/tape.md is the manual.
//
//   cotangent::tape::DeviceLane lane(tape);
//   lane.push(state, n, stream);          step<<<grid, block, 0, stream>>>(state);     forward
//   lane.pop(state, n, stream);           step_pullback<<<...>>>(state, d_state);      in reverse
//   lane.check();                         throws the first error, once a region
#pragma once

#include <cuda_runtime.h>

#include <cotangent/tape.hpp>

namespace cotangent {
namespace tape {

// The functions of this program's CUDA runtime.
inline const cotangent_cuda_functions* cuda_functions() {
  static const cotangent_cuda_functions functions = {
      [](void** memory, std::size_t bytes) -> int { return cudaMallocHost(memory, bytes); },
      [](void* memory) -> int { return cudaFreeHost(memory); },
      [](void** memory, std::size_t bytes) -> int { return cudaMalloc(memory, bytes); },
      [](void* memory) -> int { return cudaFree(memory); },
      []() -> int { return cudaGetLastError(); },
      [](void** stream, unsigned flags) -> int {
        return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), flags);
      },
      [](void* stream) -> int { return cudaStreamDestroy(static_cast<cudaStream_t>(stream)); },
      [](void* stream, void* event, unsigned flags) -> int {
        return cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), static_cast<cudaEvent_t>(event), flags);
      },
      [](void** event, unsigned flags) -> int {
        return cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event), flags);
      },
      [](void* event) -> int { return cudaEventDestroy(static_cast<cudaEvent_t>(event)); },
      [](void* event, void* stream) -> int {
        return cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(stream));
      },
      [](void* event) -> int { return cudaEventQuery(static_cast<cudaEvent_t>(event)); },
      [](void* event) -> int { return cudaEventSynchronize(static_cast<cudaEvent_t>(event)); },
      [](void* to, const void* from, std::size_t bytes, int kind, void* stream) -> int {
        return cudaMemcpyAsync(to, from, bytes, static_cast<cudaMemcpyKind>(kind), static_cast<cudaStream_t>(stream));
      },
  };
  return &functions;
}

// A stack of arrays in the GPU's memory. For one thread at a time.
class DeviceLane {
 public:
  // Zero stands for the default. A `device_bytes` of less than two chunks, as 1, means none of the GPU's memory.
  explicit DeviceLane(Tape& tape, std::size_t pinned_bytes = 0, std::size_t chunk_bytes = 0, std::size_t device_bytes = 0) {
    const cotangent_device_options options = {chunk_bytes, pinned_bytes, device_bytes, cuda_functions()};
    const std::uint32_t status = cotangent_device_lane_open(tape.get(), &options, &lane_);
    if (status != COTANGENT_TAPE_OK) throw Error(status);
  }
  ~DeviceLane() { cotangent_device_lane_close(lane_); }
  DeviceLane(const DeviceLane&) = delete;
  DeviceLane& operator=(const DeviceLane&) = delete;

  // The array as it is when all that the stream was given so far is done; then the stream may overwrite it.
  template <class T>
  void push(const T* array, std::size_t count, cudaStream_t stream = nullptr) {
    static_assert(std::is_trivially_copyable_v<T>, "only bytes go to and from a GPU");
    cotangent_device_lane_push(lane_, array, all_bytes(count, sizeof(T)), stream);
  }

  // The array pushed last, of the same size.
  template <class T>
  void pop(T* array, std::size_t count, cudaStream_t stream = nullptr) {
    static_assert(std::is_trivially_copyable_v<T>, "only bytes go to and from a GPU");
    cotangent_device_lane_pop(lane_, array, all_bytes(count, sizeof(T)), stream);
  }

  // The present end, good until something below it is popped; going back there forgets what came later.
  cotangent_mark mark() { return cotangent_device_lane_mark(lane_); }
  void rewind(cotangent_mark mark) { cotangent_device_lane_rewind(lane_, mark); }

  // Between hold and release pops forget nothing, so that arrays can be read again; seek says from where.
  void hold() { cotangent_device_lane_hold(lane_); }
  void seek(cotangent_mark mark) { cotangent_device_lane_seek(lane_, mark); }
  void release() { cotangent_device_lane_release(lane_); }

  // Waits for all copies, and throws the first error.
  void check() const {
    const std::uint32_t status = cotangent_device_lane_status(lane_);
    const auto code = static_cast<cudaError_t>(cotangent_device_lane_error(lane_));
    if (code != cudaSuccess) throw Error(status, cudaGetErrorString(code));
    if (status != COTANGENT_TAPE_OK) throw Error(status);
  }
  void clear() { cotangent_device_lane_clear(lane_); }
  cotangent_device_stats stats() const { return cotangent_device_lane_stats(lane_); }

 private:
  // A product that does not fit is a size that no memory has.
  static std::size_t all_bytes(std::size_t count, std::size_t each) {
    return count <= PTRDIFF_MAX / each ? count * each : SIZE_MAX;
  }

  cotangent_device_lane* lane_ = nullptr;
};

}  // namespace tape
}  // namespace cotangent
