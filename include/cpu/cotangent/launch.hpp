// Launches of kernels: what `kernel<<<grid, block, shared, stream>>>(arguments)` becomes.
//
// `launch` runs a kernel that finds its coordinates in threadIdx and the other builtin variables.
// `launch_loop` and `launch_coroutines` run a kernel that takes them as its first argument. The
// loop over the threads of a block is in this header for `launch_loop`, around the inlined kernel,
// so that the compiler can vectorise it; such a kernel must not wait for other threads.
#pragma once

#include "cotangent/thread.hpp"

namespace cotangent {

// What stands between <<< and >>>, and where.
struct Configuration {
  dim3 grid;
  dim3 block;
  size_t shared;
  void* stream;
  CotangentSite site;
};

// Set the builtin variables of this OS thread; see CotangentLaunch. Defined in support.cpp.
CotangentDim* enter_block(const CotangentLaunch* launch, CotangentDim block_index);
void leave_block();

// Where the launch stands that a printed kernel's launcher carries out; null for others. Defined in support.cpp.
extern __thread const CotangentSite* printed_site COTANGENT_THREAD_LOCAL;

// Hands a launch to the runtime. `run_thread` is called with the address of `closure` for every
// thread. Errors are left where cudaGetLastError finds them.
template <class Closure>
COTANGENT_UNCHECKED int submit(const Configuration& configuration, Closure& closure, const void* function,
                               void (*run_thread)(void*),
                               void (*run_blocks)(void*, const CotangentLaunch*, uint64_t, uint64_t) = nullptr) {
  CotangentLaunch launch{};
  launch.grid = {configuration.grid.x, configuration.grid.y, configuration.grid.z};
  launch.block = {configuration.block.x, configuration.block.y, configuration.block.z};
  launch.shared_bytes = configuration.shared;
  launch.stream = stream_of(configuration.stream);
  launch.function = function;
  launch.closure = &closure;
  launch.enter_block = enter_block;
  launch.leave_block = leave_block;
  launch.run_thread = run_thread;
  launch.run_blocks = run_blocks;
  launch.site = printed_site != nullptr ? *printed_site : configuration.site;
  return api->launch(&launch);
}

// Calls a launch's closure for the current thread, on a copy of its own: the original lies on the
// host's stack, which a kernel must not touch. As in CUDA, arguments travel as plain bytes.
template <class Closure, class... Use>
COTANGENT_UNCHECKED inline void call_own_copy(const void* closure, Use... use) {
  alignas(Closure) unsigned char own[sizeof(Closure)];
  __builtin_memcpy(own, closure, sizeof(Closure));
  (*reinterpret_cast<const Closure*>(own))(use...);
}

template <class Closure>
COTANGENT_UNCHECKED void call(void* closure) {
  call_own_copy<Closure>(closure);
}

// A launch of one function. The call operator has the kernel's own parameter types, so arguments
// convert as they do in CUDA.
template <class... Parameters>
struct FunctionLaunch {
  void (*kernel)(Parameters...);
  Configuration configuration;

  int operator()(Parameters... arguments) const {
    auto closure = [kernel = kernel, arguments...]() COTANGENT_UNCHECKED { kernel(arguments...); };
    return submit(configuration, closure, reinterpret_cast<const void*>(kernel), call<decltype(closure)>);
  }
};

// A launch of any callable; arguments are copied once, and every thread gets its own copies.
template <class Kernel>
struct CallableLaunch {
  Kernel kernel;
  Configuration configuration;

  template <class... Arguments>
  int operator()(Arguments... arguments) const {
    auto closure = [kernel = kernel, arguments...]() COTANGENT_UNCHECKED { kernel(arguments...); };
    return submit(configuration, closure, nullptr, call<decltype(closure)>);
  }
};

template <class... Parameters>
FunctionLaunch<Parameters...> launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared = 0,
                                     void* stream = nullptr, CotangentSite site = here()) {
  return {kernel, {grid, block, shared, stream, site}};
}

template <class Kernel>
CallableLaunch<Kernel> launch(Kernel kernel, dim3 grid, dim3 block, size_t shared = 0, void* stream = nullptr,
                              CotangentSite site = here()) {
  return {kernel, {grid, block, shared, stream, site}};
}

// Runs all threads of `count` blocks from linear index `first` on. The arguments are copies of the
// launch's, so nothing in the loop can change them.
template <class Kernel, class... Arguments>
COTANGENT_INLINE void run_blocks(const Kernel& kernel, const CotangentLaunch& launch, uint64_t first,
                                 uint64_t count, Arguments... arguments) {
  const CotangentDim grid = launch.grid;
  const CotangentDim block = launch.block;
  // A block that failed may have left one.
  block_sum.place = nullptr;
  for (uint64_t index = first; index < first + count; ++index) {
    const unsigned block_x = static_cast<unsigned>(index % grid.x);
    const unsigned block_y = static_cast<unsigned>(index / grid.x % grid.y);
    const unsigned block_z = static_cast<unsigned>(index / grid.x / grid.y);
    for (unsigned z = 0; z < block.z; ++z) {
      for (unsigned y = 0; y < block.y; ++y) {
        for (unsigned x = 0; x < block.x; ++x) {
          const Thread thread{{x, y, z},
                              {block_x, block_y, block_z},
                              {block.x, block.y, block.z},
                              {grid.x, grid.y, grid.z}};
          kernel(thread, arguments...);
        }
      }
    }
    settle_block_sum();
  }
}

// A launch of a kernel that takes its coordinates. `Looped` says whether it may run as a loop.
template <class Kernel, bool Looped>
struct ThreadLaunch {
  Kernel kernel;
  Configuration configuration;

  template <class... Arguments>
  int operator()(Arguments... arguments) const {
    auto closure = [kernel = kernel, arguments...](auto use) COTANGENT_UNCHECKED { use(kernel, arguments...); };
    using Closure = decltype(closure);
    auto run_thread = [](void* data) COTANGENT_UNCHECKED {
      call_own_copy<Closure>(data, [](const auto& kernel, const auto&... arguments) COTANGENT_UNCHECKED {
        const Thread thread = current_thread();
        kernel(thread, arguments...);
      });
    };
    if constexpr (Looped) {
      auto loop = [](void* data, const CotangentLaunch* launch, uint64_t first, uint64_t count) {
        (*static_cast<const Closure*>(data))([=](const auto& kernel, auto... arguments) {
          run_blocks(kernel, *launch, first, count, arguments...);
        });
      };
      return submit(configuration, closure, nullptr, run_thread, loop);
    } else {
      return submit(configuration, closure, nullptr, run_thread);
    }
  }
};

// For kernels that can reach no barrier, shuffle, vote or other place where threads wait.
template <class Kernel>
ThreadLaunch<Kernel, true> launch_loop(Kernel kernel, dim3 grid, dim3 block, size_t shared = 0,
                                       void* stream = nullptr, CotangentSite site = here()) {
  return {kernel, {grid, block, shared, stream, site}};
}

template <class Kernel>
ThreadLaunch<Kernel, false> launch_coroutines(Kernel kernel, dim3 grid, dim3 block, size_t shared = 0,
                                              void* stream = nullptr, CotangentSite site = here()) {
  return {kernel, {grid, block, shared, stream, site}};
}

// A `__device__`, `__constant__` or `__managed__` variable, made known to the runtime.
struct Symbol {
  template <class T>
  Symbol(const T* address, size_t bytes, const char* name, uint32_t space = COTANGENT_SPACE_DEVICE) {
    if (api != nullptr) api->symbol(address, bytes, name, space);
    if (space == COTANGENT_SPACE_MANAGED) managed_variable(address, bytes);
  }
};

}  // namespace cotangent
