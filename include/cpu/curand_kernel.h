// On the CPU: NVIDIA's header as device code sees it, with the device's tables; the host's are not for kernels. What it computes by
// assembly (Poisson's distribution) ends the program.
#pragma once

#ifdef COTANGENT_WIDE_HALF
#error "the numbers in NVIDIA's text stay single precision where float is double"
#endif

#define __CUDA_ARCH__ 800
#define asm(...) __builtin_trap()
#include_next <curand_kernel.h>
#undef asm
#undef __CUDA_ARCH__
