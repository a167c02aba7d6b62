// What the harness of `cotangent check` finds in the executor's headers, for a program that nvcc compiles.
#include <cstddef>
#include <utility>
#define COTANGENT_UNCHECKED __host__ __device__

namespace cotangent_check {

// A block has so much dynamic shared memory without asking for more.
template <class... P>
void allow(void (*kernel)(P...), std::size_t shared) {
  if (shared > 48 * 1024) cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared));
}

template <auto kernel>
struct LauncherOfNvcc;
template <class... P, void (*kernel)(P...)>
struct LauncherOfNvcc<kernel> {
  static void launch(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream, P... arguments) {
    allow(kernel, shared);
    kernel<<<grid, block, shared, stream>>>(arguments...);
  }
};

// What launches a kernel that was printed.
template <auto kernel>
constexpr auto launcher_of_nvcc = LauncherOfNvcc<kernel>::launch;

template <class P>
struct TakeOnDevice {
  __device__ static P from(void* data) { return *static_cast<P*>(data); }
};
template <class T>
struct TakeOnDevice<T*> {
  __device__ static T* from(void* data) { return static_cast<T*>(data); }
};
template <class T>
struct TakeOnDevice<T&> {
  __device__ static T& from(void* data) { return *static_cast<T*>(data); }
};

template <auto function>
struct CallOfNvcc;
template <class R, class... P, R (*function)(P...)>
struct CallOfNvcc<function> {
  static constexpr unsigned arguments = sizeof...(P) + 1;

  template <std::size_t... I>
  __device__ static void call(void** data, std::index_sequence<I...>) {
    if constexpr (std::is_same<R, void>::value) {
      function(TakeOnDevice<P>::from(data[I])...);
    } else {
      *static_cast<R*>(data[sizeof...(P)]) = function(TakeOnDevice<P>::from(data[I])...);
    }
  }

  __device__ static void call(void** data) { call(data, std::index_sequence_for<P...>()); }
};

template <auto function>
__global__ void call_of_nvcc(void** data) {
  CallOfNvcc<function>::call(data);
}

// A device function of the user's, called by one thread; its result goes behind the arguments.
template <auto function, class B>
void device_of_nvcc(B* buffers) {
  void** data = nullptr;
  cudaMallocManaged(&data, CallOfNvcc<function>::arguments * sizeof(void*));
  for (unsigned a = 0; a < CallOfNvcc<function>::arguments; a++) data[a] = buffers[a].data;
  call_of_nvcc<function><<<1, 1>>>(data);
  cudaDeviceSynchronize();
  cudaFree(data);
}

}  // namespace cotangent_check

namespace cotangent {

template <class... P>
struct KernelOfNvcc {
  void (*kernel)(P...);
  dim3 grid, block;
  std::size_t shared;

  void operator()(P... arguments) const { kernel<<<grid, block, shared>>>(arguments...); }
};

template <class... P>
KernelOfNvcc<P...> launch(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared) {
  cotangent_check::allow(kernel, shared);
  return {kernel, grid, block, shared};
}

}  // namespace cotangent
