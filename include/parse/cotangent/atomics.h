// Declarations of the atomic functions, each in its three scopes: the device
// (no suffix), the block and the system.
#pragma once

#include "host_defines.h"
#include "vector_types.h"

#define COTANGENT_ATOMIC(name, type)                                   \
  __device__ type name(type* address, type value);                     \
  __device__ type name##_block(type* address, type value);             \
  __device__ type name##_system(type* address, type value);

#define COTANGENT_ATOMIC_CAS(type)                                            \
  __device__ type atomicCAS(type* address, type compare, type value);         \
  __device__ type atomicCAS_block(type* address, type compare, type value);   \
  __device__ type atomicCAS_system(type* address, type compare, type value);

COTANGENT_ATOMIC(atomicAdd, int)
COTANGENT_ATOMIC(atomicAdd, unsigned int)
COTANGENT_ATOMIC(atomicAdd, unsigned long long)
COTANGENT_ATOMIC(atomicAdd, float)
COTANGENT_ATOMIC(atomicAdd, double)
COTANGENT_ATOMIC(atomicAdd, float2)
COTANGENT_ATOMIC(atomicAdd, float4)
COTANGENT_ATOMIC(atomicSub, int)
COTANGENT_ATOMIC(atomicSub, unsigned int)
COTANGENT_ATOMIC(atomicExch, int)
COTANGENT_ATOMIC(atomicExch, unsigned int)
COTANGENT_ATOMIC(atomicExch, unsigned long long)
COTANGENT_ATOMIC(atomicExch, float)
COTANGENT_ATOMIC(atomicMin, int)
COTANGENT_ATOMIC(atomicMin, unsigned int)
COTANGENT_ATOMIC(atomicMin, long long)
COTANGENT_ATOMIC(atomicMin, unsigned long long)
COTANGENT_ATOMIC(atomicMax, int)
COTANGENT_ATOMIC(atomicMax, unsigned int)
COTANGENT_ATOMIC(atomicMax, long long)
COTANGENT_ATOMIC(atomicMax, unsigned long long)
COTANGENT_ATOMIC(atomicInc, unsigned int)
COTANGENT_ATOMIC(atomicDec, unsigned int)
COTANGENT_ATOMIC(atomicAnd, int)
COTANGENT_ATOMIC(atomicAnd, unsigned int)
COTANGENT_ATOMIC(atomicAnd, unsigned long long)
COTANGENT_ATOMIC(atomicOr, int)
COTANGENT_ATOMIC(atomicOr, unsigned int)
COTANGENT_ATOMIC(atomicOr, unsigned long long)
COTANGENT_ATOMIC(atomicXor, int)
COTANGENT_ATOMIC(atomicXor, unsigned int)
COTANGENT_ATOMIC(atomicXor, unsigned long long)
COTANGENT_ATOMIC_CAS(int)
COTANGENT_ATOMIC_CAS(unsigned int)
COTANGENT_ATOMIC_CAS(unsigned long long)

// 16 bits in one scope only.
__device__ unsigned short atomicCAS(unsigned short* address, unsigned short compare, unsigned short value);

#undef COTANGENT_ATOMIC
#undef COTANGENT_ATOMIC_CAS
