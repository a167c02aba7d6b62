// Declarations of the loads and stores that name a cache policy, of the
// queries for an address space, and of the fences.
#pragma once

#include "host_defines.h"
#include "vector_types.h"

#define COTANGENT_CACHED(type)                              \
  __device__ type __ldg(const type* address);               \
  __device__ type __ldca(const type* address);              \
  __device__ type __ldcg(const type* address);              \
  __device__ type __ldcs(const type* address);              \
  __device__ type __ldcv(const type* address);              \
  __device__ type __ldlu(const type* address);              \
  __device__ void __stcg(type* address, type value);        \
  __device__ void __stcs(type* address, type value);        \
  __device__ void __stwb(type* address, type value);        \
  __device__ void __stwt(type* address, type value);

COTANGENT_CACHED(char)
COTANGENT_CACHED(signed char)
COTANGENT_CACHED(short)
COTANGENT_CACHED(int)
COTANGENT_CACHED(long)
COTANGENT_CACHED(long long)
COTANGENT_CACHED(unsigned char)
COTANGENT_CACHED(unsigned short)
COTANGENT_CACHED(unsigned int)
COTANGENT_CACHED(unsigned long)
COTANGENT_CACHED(unsigned long long)
COTANGENT_CACHED(float)
COTANGENT_CACHED(double)
COTANGENT_CACHED(char2)
COTANGENT_CACHED(char4)
COTANGENT_CACHED(short2)
COTANGENT_CACHED(short4)
COTANGENT_CACHED(int2)
COTANGENT_CACHED(int4)
COTANGENT_CACHED(longlong2)
COTANGENT_CACHED(uchar2)
COTANGENT_CACHED(uchar4)
COTANGENT_CACHED(ushort2)
COTANGENT_CACHED(ushort4)
COTANGENT_CACHED(uint2)
COTANGENT_CACHED(uint4)
COTANGENT_CACHED(ulonglong2)
COTANGENT_CACHED(float2)
COTANGENT_CACHED(float4)
COTANGENT_CACHED(double2)

#undef COTANGENT_CACHED

__device__ unsigned int __isGlobal(const void* address);
__device__ unsigned int __isShared(const void* address);
__device__ unsigned int __isConstant(const void* address);
__device__ unsigned int __isLocal(const void* address);
__device__ size_t __cvta_generic_to_global(const void* address);
__device__ size_t __cvta_generic_to_shared(const void* address);

__device__ void __threadfence();
__device__ void __threadfence_block();
__device__ void __threadfence_system();
