// Which functions of CUDA's math library the C library has begun to declare.
//
// C23 took rsqrt, sinpi and cospi into <math.h>. Where the C library declares
// one, ours must not declare it for the host again, so the parsing headers and
// the CPU both ask here.
#pragma once

// For __GLIBC_PREREQ, without declaring anything.
#if __has_include(<features.h>)
#include <features.h>
#endif

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 41)
#define COTANGENT_LIBM_HAS_SINPI 1
#else
#define COTANGENT_LIBM_HAS_SINPI 0
#endif

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 42)
#define COTANGENT_LIBM_HAS_RSQRT 1
#else
#define COTANGENT_LIBM_HAS_RSQRT 0
#endif
