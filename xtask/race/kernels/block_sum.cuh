// The sum of a number of each thread over a block of any shape: by shuffles in each warp, whose last may be ragged, then
// over the warps. Every thread of the block must call it.
#pragma once

__device__ inline int thread_of_block() {
  return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

// The first thread of each warp gets the sum over its warp.
__device__ inline float warp_sum(float value, unsigned thread, unsigned threads) {
  const unsigned lanes = min(32u, threads - (thread & ~31u));
  const unsigned present = 0xffffffffu >> (32 - lanes);
  for (unsigned step = 16; step > 0; step >>= 1) {
    const float other = __shfl_down_sync(present, value, step);
    // What comes from a lane that is not there is no number of this block.
    if ((thread & 31u) + step < lanes) value += other;
  }
  return value;
}

// The first thread of the block gets the sum.
__device__ inline float block_sum_for_first(float value) {
  __shared__ float of_warp[32];
  const unsigned thread = thread_of_block(), threads = blockDim.x * blockDim.y * blockDim.z;
  value = warp_sum(value, thread, threads);
  // One warp has no other to wait for.
  if (threads <= 32) return value;
  if ((thread & 31u) == 0) of_warp[thread >> 5] = value;
  __syncthreads();
  if (thread >= 32) return 0.0f;
  value = thread < (threads + 31) / 32 ? of_warp[thread] : 0.0f;
  for (int step = 16; step > 0; step >>= 1) value += __shfl_down_sync(0xffffffffu, value, step);
  return value;
}

// Every thread gets the sum.
__device__ inline float block_sum(float value) {
  __shared__ float of_warp[32];
  const unsigned thread = thread_of_block(), threads = blockDim.x * blockDim.y * blockDim.z;
  value = warp_sum(value, thread, threads);
  // A sum before this one may still be read.
  __syncthreads();
  if ((thread & 31u) == 0) of_warp[thread >> 5] = value;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll 1
  for (unsigned warp = 0; warp < (threads + 31) / 32; ++warp) sum += of_warp[warp];
  return sum;
}
