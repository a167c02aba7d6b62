// The runtime API's kernels as values: launches by pointer, attributes and occupancy.
#pragma once

#include <stdlib.h>

#include <utility>

#include "cotangent/launch.hpp"
#include "cotangent/runtime_device.hpp"

namespace cotangent {

// Launches a kernel whose arguments lie at the addresses in a list.
template <class... Parameters, size_t... positions>
cudaError_t launch_from_list(const FunctionLaunch<Parameters...>& launch, void** arguments,
                             std::index_sequence<positions...>) {
  return error(launch(*static_cast<Parameters*>(arguments[positions])...));
}

// The largest number of threads in a block that the shared memory of a block allows; all of them,
// since nothing else limits a block here.
constexpr int max_block_size = 1024;

// What kernels say that their registers allow. There are none here; a test sets the variable to try the other case.
inline int allowed_block_size() {
  const char* stated = getenv("COTANGENT_CPU_REGISTERS_ALLOW");
  return stated != nullptr ? atoi(stated) : max_block_size;
}

}  // namespace cotangent

template <class... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, void** arguments,
                             size_t shared = 0, cudaStream_t stream = 0,
                             CotangentSite site = ::cotangent::here()) {
  return ::cotangent::launch_from_list(::cotangent::launch(kernel, grid, block, shared, stream, site), arguments,
                                       std::index_sequence_for<Parameters...>());
}
// A kernel behind a plain address has lost the types of its parameters, which only a GPU's driver
// still knows.
inline cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t = 0, cudaStream_t = 0) {
  return ::cotangent::error(::cotangent::api->set_error(cudaErrorInvalidDeviceFunction));
}
// Blocks do not wait for each other here, so a cooperative launch cannot be promised.
template <class Kernel>
cudaError_t cudaLaunchCooperativeKernel(Kernel, dim3, dim3, void**, size_t = 0, cudaStream_t = 0) {
  return ::cotangent::error(::cotangent::api->set_error(cudaErrorNotSupported));
}

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  return ::cotangent::error(::cotangent::api->function_shared_limit((const void*)kernel, value));
}
template <class Kernel>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, Kernel*) {
  *attributes = cudaFuncAttributes{};
  attributes->maxThreadsPerBlock = ::cotangent::allowed_block_size();
  attributes->numRegs = 32;
  attributes->ptxVersion = 90;
  attributes->binaryVersion = 90;
  attributes->maxDynamicSharedSizeBytes = 49152;
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetCacheConfig(Kernel*, cudaFuncCache) {
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetSharedMemConfig(Kernel*, cudaSharedMemConfig) {
  return cudaSuccess;
}

template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int block_size, size_t shared) {
  const bool fits = block_size > 0 && block_size <= ::cotangent::max_block_size;
  const size_t by_shared = shared == 0 ? 32 : COTANGENT_MAX_DYNAMIC_SHARED / shared;
  const size_t by_threads = fits ? 2048 / static_cast<size_t>(block_size) : 0;
  const size_t most = by_threads < by_shared ? by_threads : by_shared;
  *blocks = static_cast<int>(most < 32 ? most : 32);
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Kernel kernel, int block_size,
                                                                   size_t shared, unsigned int) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, block_size, shared);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, Kernel kernel, size_t shared = 0,
                                               int block_size_limit = 0) {
  const bool limited = block_size_limit > 0 && block_size_limit < ::cotangent::max_block_size;
  *block_size = limited ? block_size_limit : ::cotangent::max_block_size;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(grid_size, kernel, *block_size, shared);
}
template <class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid_size, int* block_size, Kernel kernel,
                                                        size_t shared = 0, int block_size_limit = 0,
                                                        unsigned int = 0) {
  return cudaOccupancyMaxPotentialBlockSize(grid_size, block_size, kernel, shared, block_size_limit);
}
template <class SharedOfBlockSize, class Kernel>
cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int* grid_size, int* block_size, Kernel kernel,
                                                           SharedOfBlockSize shared, int block_size_limit = 0) {
  const size_t largest = shared(block_size_limit > 0 ? block_size_limit : ::cotangent::max_block_size);
  return cudaOccupancyMaxPotentialBlockSize(grid_size, block_size, kernel, largest, block_size_limit);
}
