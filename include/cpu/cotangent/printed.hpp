// Launches of kernels that another part of the program holds: what Cotangent printed for a kernel is compiled on its
// own, registered under a name, and launched from the user's host code in place of the user's kernel.
//
// The two parts know a record under different C++ types of one layout, so arguments travel by address. Sizes are
// compared at the launch; a difference ends the program, because there is no way to go on.
#pragma once

#include <utility>

#include "cotangent/launch.hpp"

namespace cotangent {

// A kernel with its launcher, which takes the configuration and then the kernel's own parameters.
struct PrintedKernel {
  const char* name;
  void (*launcher)();
  void (*call)(void (*launcher)(), const Configuration& configuration, void* const* arguments);
  const size_t* sizes;
  size_t count;
  const PrintedKernel* next;

  template <class Stream, class... Parameters>
  PrintedKernel(const char* kernel_name, void (*kernel_launcher)(dim3, dim3, size_t, Stream, Parameters...))
      : name(kernel_name),
        launcher(reinterpret_cast<void (*)()>(kernel_launcher)),
        call(call_with<Stream, Parameters...>),
        sizes(sizes_of<Parameters...>),
        count(sizeof...(Parameters)) {
    add();
  }

  PrintedKernel(const PrintedKernel&) = delete;

 private:
  // The last is there because an array cannot be empty.
  template <class... Parameters>
  static constexpr size_t sizes_of[sizeof...(Parameters) + 1] = {sizeof(Parameters)..., 0};

  template <class Stream, class... Parameters>
  static void call_with(void (*launcher)(), const Configuration& configuration, void* const* arguments) {
    expand<Stream, Parameters...>(launcher, configuration, arguments, std::index_sequence_for<Parameters...>());
  }

  template <class Stream, class... Parameters, size_t... positions>
  static void expand(void (*launcher)(), const Configuration& configuration, void* const* arguments,
                     std::index_sequence<positions...>) {
    const auto typed = reinterpret_cast<void (*)(dim3, dim3, size_t, Stream, Parameters...)>(launcher);
    typed(configuration.grid, configuration.block, configuration.shared, static_cast<Stream>(configuration.stream),
          *static_cast<Parameters*>(arguments[positions])...);
  }

  void add();
};

// Launches the kernel of that name. Defined in support.cpp.
void run_printed(const char* name, const Configuration& configuration, void* const* arguments, const size_t* sizes,
                 size_t count);

// A launch of a printed kernel. The call operator has the parameter types of the user's kernel, so arguments convert
// as they do in CUDA.
template <class Kernel>
struct PrintedLaunch;

template <class... Parameters>
struct PrintedLaunch<void(Parameters...)> {
  const char* name;
  Configuration configuration;

  void operator()(Parameters... arguments) const {
    void* const addresses[] = {const_cast<void*>(static_cast<const volatile void*>(&arguments))..., nullptr};
    const size_t sizes[] = {sizeof(Parameters)..., 0};
    run_printed(name, configuration, addresses, sizes, sizeof...(Parameters));
  }
};

// The user's kernel gives its type only.
template <class Kernel>
PrintedLaunch<Kernel> launch_printed(Kernel*, const char* name, dim3 grid, dim3 block, size_t shared = 0,
                                     void* stream = nullptr, CotangentSite site = here()) {
  return {name, {grid, block, shared, stream, site}};
}

}  // namespace cotangent
