// make_float4(x, y, z, w) and its like: one function for every vector type.
#pragma once

#include "vector_types.h"

#define COTANGENT_MAKE(name, element)                                                                   \
  inline __host__ __device__ name##1 make_##name##1(element x) { return {x}; }                   \
  inline __host__ __device__ name##2 make_##name##2(element x, element y) { return {x, y}; }     \
  inline __host__ __device__ name##3 make_##name##3(element x, element y, element z) {           \
    return {x, y, z};                                                                                   \
  }                                                                                                     \
  inline __host__ __device__ name##4 make_##name##4(element x, element y, element z, element w) { \
    return {x, y, z, w};                                                                                \
  }

COTANGENT_MAKE(char, signed char)
COTANGENT_MAKE(uchar, unsigned char)
COTANGENT_MAKE(short, short)
COTANGENT_MAKE(ushort, unsigned short)
COTANGENT_MAKE(int, int)
COTANGENT_MAKE(uint, unsigned int)
COTANGENT_MAKE(long, long)
COTANGENT_MAKE(ulong, unsigned long)
COTANGENT_MAKE(longlong, long long)
COTANGENT_MAKE(ulonglong, unsigned long long)
COTANGENT_MAKE(float, float)
COTANGENT_MAKE(double, double)

#undef COTANGENT_MAKE
