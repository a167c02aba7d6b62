// The operator @SPACE@::@NAME@ for XLA, made by Cotangent from the kernel of @SOURCE@. build.py compiles it.
#include <cstdlib>
#include <string>
#ifdef WITH_CUDA
#include <cuda_runtime_api.h>
#endif

#include "kernels.h"
#include "xla/ffi/api/ffi.h"

namespace {

namespace ffi = xla::ffi;
using Kept = ffi::RemainingArgs;     // arrays that are only read, then what the others begin as, in the same memory
using Changed = ffi::RemainingRets;  // arrays that the kernels work on
using Integers = ffi::Span<const int64_t>;
using Floats = ffi::Span<const double>;

// What the kernels of a device are called, and memory there.
struct Cpu {
  static constexpr bool waits = true;
  static void* zeros(size_t bytes, void*) { return std::calloc(bytes + 1, 1); }
  static void release(void* memory, void*) { std::free(memory); }
@KERNELS_CPU@
};

#ifdef WITH_CUDA
struct Cuda {
  static constexpr bool waits = false;
  static void* zeros(size_t bytes, void* stream) {
    void* made = nullptr;
    if (cudaMallocAsync(&made, bytes + 1, static_cast<cudaStream_t>(stream)) != cudaSuccess) return nullptr;
    cudaMemsetAsync(made, 0, bytes, static_cast<cudaStream_t>(stream));
    return made;
  }
  static void release(void* memory, void* stream) { cudaFreeAsync(memory, static_cast<cudaStream_t>(stream)); }
@KERNELS_CUDA@
};
#endif

// Memory that is gone after the launch.
template <class Device>
struct Zeros {
  void* data;
  void* stream;
  Zeros(size_t bytes, void* stream) : data(Device::zeros(bytes, stream)), stream(stream) {}
  Zeros(const Zeros&) = delete;
  ~Zeros() { Device::release(data, stream); }
};

ffi::AnyBuffer in(const Kept& arrays, size_t at) { return *arrays.get<ffi::AnyBuffer>(at); }
ffi::AnyBuffer out(const Changed& arrays, size_t at) { return **arrays.get<ffi::AnyBuffer>(at); }

Launch launch_of(Integers sizes, void* stream, bool waits) {
  auto size = [&](size_t at) { return static_cast<unsigned>(sizes[at]); };
  return {{size(0), size(1), size(2)}, {size(3), size(4), size(5)}, static_cast<size_t>(sizes[6]), stream, waits};
}

bool is_empty(const Launch& launch) { return launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0; }

template <class Device>
ffi::Error ended(int code) {
  if (code == 0) return ffi::Error::Success();
  return ffi::Error::Internal(std::string("@SPACE@::@NAME@: a launch failed: ") + Device::error(code));
}

[[maybe_unused]] ffi::Error no_memory(size_t bytes) {
  return ffi::Error(ffi::ErrorCode::kResourceExhausted, "@SPACE@::@NAME@: no memory for three times " + std::to_string(bytes) + " bytes");
}

@FUNCTIONS@

template <auto function>
ffi::Error without_stream(Kept kept, Changed changed, Integers sizes, Integers integers, Floats floats) {
  return function(nullptr, kept, changed, sizes, integers, floats);
}

}  // namespace

#define OPERANDS RemainingArgs().RemainingRets().Attr<Integers>("launch").Attr<Integers>("integers").Attr<Floats>("floats")
#define CPU_HANDLER(name, function) XLA_FFI_DEFINE_HANDLER_SYMBOL(name, without_stream<(function)>, ffi::Ffi::Bind().OPERANDS)
#define CUDA_HANDLER(name, function) XLA_FFI_DEFINE_HANDLER_SYMBOL(name, (function), ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().OPERANDS)

#pragma GCC visibility push(default)
@HANDLERS_CPU@
#ifdef WITH_CUDA
@HANDLERS_CUDA@
#endif
#pragma GCC visibility pop
