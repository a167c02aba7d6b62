// Declarations of the integer intrinsics, scalar and on packed bytes or half
// words of one 32-bit register.
#pragma once

#include "host_defines.h"

__device__ unsigned int __brev(unsigned int x);
__device__ unsigned long long __brevll(unsigned long long x);
__device__ unsigned int __byte_perm(unsigned int x, unsigned int y, unsigned int selector);
__device__ int __clz(int x);
__device__ int __clzll(long long x);
__device__ int __ffs(int x);
__device__ int __ffsll(long long x);
__device__ unsigned int __fns(unsigned int mask, unsigned int base, int offset);
__device__ int __popc(unsigned int x);
__device__ int __popcll(unsigned long long x);

__device__ unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift);
__device__ unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift);
__device__ unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift);
__device__ unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift);

__device__ int __hadd(int x, int y);
__device__ int __rhadd(int x, int y);
__device__ unsigned int __uhadd(unsigned int x, unsigned int y);
__device__ unsigned int __urhadd(unsigned int x, unsigned int y);

__device__ int __mul24(int x, int y);
__device__ unsigned int __umul24(unsigned int x, unsigned int y);
__device__ int __mulhi(int x, int y);
__device__ unsigned int __umulhi(unsigned int x, unsigned int y);
__device__ long long __mul64hi(long long x, long long y);
__device__ unsigned long long __umul64hi(unsigned long long x, unsigned long long y);

__device__ unsigned int __sad(int x, int y, unsigned int z);
__device__ unsigned int __usad(unsigned int x, unsigned int y, unsigned int z);

__device__ int __dp4a(int a, int b, int c);
__device__ unsigned int __dp4a(unsigned int a, unsigned int b, unsigned int c);
__device__ int __dp2a_lo(int a, int b, int c);
__device__ unsigned int __dp2a_lo(unsigned int a, unsigned int b, unsigned int c);
__device__ int __dp2a_hi(int a, int b, int c);
__device__ unsigned int __dp2a_hi(unsigned int a, unsigned int b, unsigned int c);

// Packed operations on four bytes (suffix 4) or two half words (suffix 2); in
// the names, u is unsigned, s signed, and ss or us saturating.
#define COTANGENT_PACKED_UNARY(name)                              \
  __device__ unsigned int name##2(unsigned int a);                \
  __device__ unsigned int name##4(unsigned int a);

#define COTANGENT_PACKED_BINARY(name)                             \
  __device__ unsigned int name##2(unsigned int a, unsigned int b); \
  __device__ unsigned int name##4(unsigned int a, unsigned int b);

COTANGENT_PACKED_UNARY(__vabs)
COTANGENT_PACKED_UNARY(__vabsss)
COTANGENT_PACKED_UNARY(__vneg)
COTANGENT_PACKED_UNARY(__vnegss)
COTANGENT_PACKED_BINARY(__vabsdiffs)
COTANGENT_PACKED_BINARY(__vabsdiffu)
COTANGENT_PACKED_BINARY(__vadd)
COTANGENT_PACKED_BINARY(__vaddss)
COTANGENT_PACKED_BINARY(__vaddus)
COTANGENT_PACKED_BINARY(__vavgs)
COTANGENT_PACKED_BINARY(__vavgu)
COTANGENT_PACKED_BINARY(__vhaddu)
COTANGENT_PACKED_BINARY(__vcmpeq)
COTANGENT_PACKED_BINARY(__vcmpges)
COTANGENT_PACKED_BINARY(__vcmpgeu)
COTANGENT_PACKED_BINARY(__vcmpgts)
COTANGENT_PACKED_BINARY(__vcmpgtu)
COTANGENT_PACKED_BINARY(__vcmples)
COTANGENT_PACKED_BINARY(__vcmpleu)
COTANGENT_PACKED_BINARY(__vcmplts)
COTANGENT_PACKED_BINARY(__vcmpltu)
COTANGENT_PACKED_BINARY(__vcmpne)
COTANGENT_PACKED_BINARY(__vmaxs)
COTANGENT_PACKED_BINARY(__vmaxu)
COTANGENT_PACKED_BINARY(__vmins)
COTANGENT_PACKED_BINARY(__vminu)
COTANGENT_PACKED_BINARY(__vsads)
COTANGENT_PACKED_BINARY(__vsadu)
COTANGENT_PACKED_BINARY(__vseteq)
COTANGENT_PACKED_BINARY(__vsetges)
COTANGENT_PACKED_BINARY(__vsetgeu)
COTANGENT_PACKED_BINARY(__vsetgts)
COTANGENT_PACKED_BINARY(__vsetgtu)
COTANGENT_PACKED_BINARY(__vsetles)
COTANGENT_PACKED_BINARY(__vsetleu)
COTANGENT_PACKED_BINARY(__vsetlts)
COTANGENT_PACKED_BINARY(__vsetltu)
COTANGENT_PACKED_BINARY(__vsetne)
COTANGENT_PACKED_BINARY(__vsub)
COTANGENT_PACKED_BINARY(__vsubss)
COTANGENT_PACKED_BINARY(__vsubus)

#undef COTANGENT_PACKED_UNARY
#undef COTANGENT_PACKED_BINARY
