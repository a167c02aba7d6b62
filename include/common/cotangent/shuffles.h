// PyTorch's shuffles, read in place of its own: what a library defines is in no
// dump. Read after ATen/cuda/DeviceUtils.cuh and before the program.
#pragma once

template <typename T>
__device__ T cotangent_shfl(T value, int lane, int width = 32, unsigned int mask = 0xffffffff) {
  return __shfl_sync(mask, value, lane, width);
}

template <typename T>
__device__ T cotangent_shfl_xor(T value, int lanes, int width = 32, unsigned int mask = 0xffffffff) {
  return __shfl_xor_sync(mask, value, lanes, width);
}

template <typename T>
__device__ T cotangent_shfl_up(T value, unsigned int delta, int width = 32, unsigned int mask = 0xffffffff) {
  return __shfl_up_sync(mask, value, delta, width);
}

template <typename T>
__device__ T cotangent_shfl_down(T value, unsigned int delta, int width = 32, unsigned int mask = 0xffffffff) {
  return __shfl_down_sync(mask, value, delta, width);
}

#define WARP_SHFL cotangent_shfl
#define WARP_SHFL_XOR cotangent_shfl_xor
#define WARP_SHFL_UP cotangent_shfl_up
#define WARP_SHFL_DOWN cotangent_shfl_down
