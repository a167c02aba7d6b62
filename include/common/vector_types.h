// CUDA's vector types and dim3.
//
// They are plain records: fields x, y, z, w, no operators and no constructors,
// so that they may stand in shared and constant memory. Types of two and four
// elements are aligned as the hardware loads them, up to 16 bytes.
#pragma once

#include "host_defines.h"

#define COTANGENT_VECTOR_TYPES(name, element, align2, align4) \
  struct name##1 {                                            \
    element x;                                                \
  };                                                          \
  struct __align__(align2) name##2 {                          \
    element x, y;                                             \
  };                                                          \
  struct name##3 {                                            \
    element x, y, z;                                          \
  };                                                          \
  struct __align__(align4) name##4 {                          \
    element x, y, z, w;                                       \
  };

COTANGENT_VECTOR_TYPES(char, signed char, 2, 4)
COTANGENT_VECTOR_TYPES(uchar, unsigned char, 2, 4)
COTANGENT_VECTOR_TYPES(short, short, 4, 8)
COTANGENT_VECTOR_TYPES(ushort, unsigned short, 4, 8)
COTANGENT_VECTOR_TYPES(int, int, 8, 16)
COTANGENT_VECTOR_TYPES(uint, unsigned int, 8, 16)
COTANGENT_VECTOR_TYPES(long, long, 2 * sizeof(long), 16)
COTANGENT_VECTOR_TYPES(ulong, unsigned long, 2 * sizeof(long), 16)
COTANGENT_VECTOR_TYPES(longlong, long long, 16, 16)
COTANGENT_VECTOR_TYPES(ulonglong, unsigned long long, 16, 16)
COTANGENT_VECTOR_TYPES(float, float, 8, 16)
COTANGENT_VECTOR_TYPES(double, double, 16, 16)

#undef COTANGENT_VECTOR_TYPES

// The extent of a grid or a block. An extent that is not given is 1.
struct dim3 {
  unsigned int x, y, z;
  __host__ __device__ constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
      : x(vx), y(vy), z(vz) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};
