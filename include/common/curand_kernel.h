// Random numbers in kernels: NVIDIA's header, which the toolkit has (the package nvidia-curand), and what derivatives must know
// of it. Random numbers are constants, and their functions need not be understood.
#pragma once

#if !__has_include_next(<curand_kernel.h>)
#error "curand_kernel.h was not found in a CUDA toolkit: install it (pip install nvidia-curand), or name its folder: -- -I DIR"
#endif
#include_next <curand_kernel.h>

#include "cotangent/rules.hpp"

#define COTANGENT_OF_STATE(result, name, state) COTANGENT_CONSTANT(static_cast<result (*)(state*)>(name));
#define COTANGENT_RANDOM(state)                                \
  COTANGENT_OF_STATE(unsigned int, curand, state)              \
  COTANGENT_OF_STATE(float, curand_uniform, state)             \
  COTANGENT_OF_STATE(double, curand_uniform_double, state)     \
  COTANGENT_OF_STATE(float, curand_normal, state)              \
  COTANGENT_OF_STATE(double, curand_normal_double, state)      \
  COTANGENT_OF_STATE(float2, curand_normal2, state)            \
  COTANGENT_CONSTANT(static_cast<void (*)(unsigned long long, unsigned long long, unsigned long long, state*)>(curand_init));

COTANGENT_RANDOM(curandStateXORWOW_t)
COTANGENT_RANDOM(curandStatePhilox4_32_10_t)
COTANGENT_RANDOM(curandStateMRG32k3a_t)
COTANGENT_OF_STATE(uint4, curand4, curandStatePhilox4_32_10_t)
COTANGENT_OF_STATE(float4, curand_uniform4, curandStatePhilox4_32_10_t)
COTANGENT_OF_STATE(float4, curand_normal4, curandStatePhilox4_32_10_t)

#undef COTANGENT_RANDOM
#undef COTANGENT_OF_STATE
