// The include guards of NVIDIA's own headers that ours stand for. A header of the toolkit that we do not bring (curand_kernel.h,
// cublas_v2.h) includes these by name from its own folder; with their guards defined they are empty there.
#pragma once

#define __BUILTIN_TYPES_H__
#define __CRT_HOST_CONFIG_H__
#define __CUDA_BF16_H__
#define __CUDA_FP16_H__
#define __CUDA_RUNTIME_API_H__
#define __CUDA_RUNTIME_H__
#define __DEVICE_FUNCTIONS_H__
#define __DEVICE_LAUNCH_PARAMETERS_H__
#define __DEVICE_TYPES_H__
#define __DRIVER_TYPES_H__
#define __HOST_CONFIG_H__
#define __HOST_DEFINES_H__
#define __LIBRARY_TYPES_H__
#define __MATH_FUNCTIONS_H__
#define __SURFACE_TYPES_H__
#define __TEXTURE_TYPES_H__
#define __VECTOR_FUNCTIONS_H__
#define __VECTOR_TYPES_H__

// Around code that uses its own deprecated functions; warnings are off anyway.
#define __NV_SILENCE_DEPRECATION_BEGIN
#define __NV_SILENCE_DEPRECATION_END
#define __NV_SILENCE_HOST_DEPRECATION_BEGIN
#define __NV_SILENCE_HOST_DEPRECATION_END
