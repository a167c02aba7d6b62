// Declarations of what threads do together: barriers, warp shuffles, votes and
// reductions. Also the clock and the ways to stop.
#pragma once

#include "host_defines.h"

__device__ void __syncthreads();
__device__ int __syncthreads_count(int predicate);
__device__ int __syncthreads_and(int predicate);
__device__ int __syncthreads_or(int predicate);
__device__ void __syncwarp(unsigned int mask = 0xffffffffu);
__device__ unsigned int __activemask();

__device__ int __all_sync(unsigned int mask, int predicate);
__device__ int __any_sync(unsigned int mask, int predicate);
__device__ int __uni_sync(unsigned int mask, int predicate);
__device__ unsigned int __ballot_sync(unsigned int mask, int predicate);

#define COTANGENT_SHUFFLE(type)                                                                   \
  __device__ type __shfl_sync(unsigned int mask, type value, int lane, int width = 32);           \
  __device__ type __shfl_up_sync(unsigned int mask, type value, unsigned int delta, int width = 32); \
  __device__ type __shfl_down_sync(unsigned int mask, type value, unsigned int delta, int width = 32); \
  __device__ type __shfl_xor_sync(unsigned int mask, type value, int lane_mask, int width = 32);

#define COTANGENT_MATCH(type)                                                     \
  __device__ unsigned int __match_any_sync(unsigned int mask, type value);        \
  __device__ unsigned int __match_all_sync(unsigned int mask, type value, int* all_equal);

COTANGENT_SHUFFLE(int)
COTANGENT_SHUFFLE(unsigned int)
COTANGENT_SHUFFLE(long)
COTANGENT_SHUFFLE(unsigned long)
COTANGENT_SHUFFLE(long long)
COTANGENT_SHUFFLE(unsigned long long)
COTANGENT_SHUFFLE(float)
COTANGENT_SHUFFLE(double)
COTANGENT_MATCH(int)
COTANGENT_MATCH(unsigned int)
COTANGENT_MATCH(long)
COTANGENT_MATCH(unsigned long)
COTANGENT_MATCH(long long)
COTANGENT_MATCH(unsigned long long)
COTANGENT_MATCH(float)
COTANGENT_MATCH(double)

#undef COTANGENT_SHUFFLE
#undef COTANGENT_MATCH

__device__ int __reduce_add_sync(unsigned int mask, int value);
__device__ int __reduce_min_sync(unsigned int mask, int value);
__device__ int __reduce_max_sync(unsigned int mask, int value);
__device__ unsigned int __reduce_add_sync(unsigned int mask, unsigned int value);
__device__ unsigned int __reduce_min_sync(unsigned int mask, unsigned int value);
__device__ unsigned int __reduce_max_sync(unsigned int mask, unsigned int value);
__device__ unsigned int __reduce_and_sync(unsigned int mask, unsigned int value);
__device__ unsigned int __reduce_or_sync(unsigned int mask, unsigned int value);
__device__ unsigned int __reduce_xor_sync(unsigned int mask, unsigned int value);

__device__ long long clock64();
__device__ void __nanosleep(unsigned int nanoseconds);
__device__ void __prof_trigger(int counter);
__device__ void __trap();
__device__ void __brkpt();
