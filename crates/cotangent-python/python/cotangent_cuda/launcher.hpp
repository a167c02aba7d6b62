// Calls a kernel or a function of the host with arguments of which only the addresses are known, and says what they are.
//
// The package writes this text between the program and three functions for ctypes (`_library.py`).

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace cotangent_python {

// What a type is, as one letter.
template <class T>
constexpr char letter() {
  if (std::is_void_v<T>) return 'v';
  if (std::is_same_v<T, bool>) return 'b';
  if (std::is_same_v<T, __half>) return 'h';
  if (std::is_same_v<T, __nv_bfloat16>) return 'g';
  if (std::is_floating_point_v<T>) return 'f';
  if (std::is_integral_v<T> || std::is_enum_v<T>) return std::is_signed_v<T> ? 'i' : 'u';
  return std::is_pointer_v<T> ? 'p' : 's';
}

// How large it is; 1 for what has no size, such as a stream.
template <class T, class = void>
constexpr std::size_t size = 1;
template <class T>
constexpr std::size_t size<T, std::void_t<decltype(sizeof(T))>> = sizeof(T);

template <class T>
std::string element() { return letter<T>() + std::to_string(size<T>); }

// A parameter or a result: `f4`, `*cf4` for a pointer to constant floats, `*mf4` for one to others.
template <class T>
std::string described() {
  using Value = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_pointer_v<Value>) {
    using Target = std::remove_pointer_t<Value>;
    return (std::is_const_v<Target> ? "*c" : "*m") + element<std::remove_cv_t<Target>>();
  } else {
    return element<Value>();
  }
}

template <class R, class... P>
std::string signature(R (*)(P...)) {
  std::string all = described<R>();
  ((all += "," + described<P>()), ...);
  return all;
}

template <class T>
std::remove_cv_t<std::remove_reference_t<T>>& at(void* address) {
  return *static_cast<std::remove_cv_t<std::remove_reference_t<T>>*>(address);
}

inline std::string thrown;

constexpr int THROWN = -1;

template <class Call>
int finished(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    thrown = error.what();
    return THROWN;
  } catch (...) {
    thrown = "an exception of an unknown type";
    return THROWN;
  }
  cudaError_t launched = cudaGetLastError();
  cudaError_t ended = cudaDeviceSynchronize();
  return launched == cudaSuccess ? ended : launched;
}

// `shape` is the grid and the block.
template <class... P, std::size_t... I>
int launch_with(void (*kernel)(P...), const unsigned* shape, std::size_t shared, void** arguments,
                std::index_sequence<I...>) {
  dim3 grid(shape[0], shape[1], shape[2]), block(shape[3], shape[4], shape[5]);
  return finished([&] { kernel<<<grid, block, shared>>>(at<P>(arguments[I])...); });
}

template <class... P>
int launch(void (*kernel)(P...), const unsigned* shape, std::size_t shared, void** arguments) {
  return launch_with(kernel, shape, shared, arguments, std::index_sequence_for<P...>());
}

template <class R, class... P, std::size_t... I>
int call_with(R (*function)(P...), void** arguments, void* result, std::index_sequence<I...>) {
  return finished([&] {
    if constexpr (std::is_void_v<R>) function(at<P>(arguments[I])...);
    else at<R>(result) = function(at<P>(arguments[I])...);
  });
}

template <class R, class... P>
int call(R (*function)(P...), void** arguments, void* result) {
  return call_with(function, arguments, result, std::index_sequence_for<P...>());
}

}  // namespace cotangent_python
