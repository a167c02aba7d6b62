// The version of CUDA that Cotangent presents to the user's program.
//
// nvcc predefines these macros; Clang leaves them out when it parses without a
// toolkit. The declarations in these headers follow the public documentation
// of the runtime API of CUDA 12.4, so that is the version they claim.
#pragma once

#ifndef __CUDACC__
#define __CUDACC__ 1
#endif
#ifndef __NVCC__
#define __NVCC__ 1
#endif

#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 4
#define __CUDACC_VER_BUILD__ 131

// 1000 * major + 10 * minor, as both libraries report it.
#define CUDART_VERSION 12040
#define CUDA_VERSION 12040
#define __CUDART_API_VERSION CUDART_VERSION

// nvcc accepts __device__ and __host__ __device__ lambdas only after a flag,
// and programs ask for it through these. Clang accepts them always.
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
