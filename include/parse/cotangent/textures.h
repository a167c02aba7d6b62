// Declarations of textures and surfaces: enough to read a program that uses
// them and to say at which call. None of them can be run or differentiated.
#pragma once

#include "cotangent/arrays.h"
#include "host_defines.h"

extern "C" {
cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height = 0, unsigned int flags = 0);
cudaError_t cudaFreeArray(cudaArray_t array);
cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind);
cudaError_t cudaCreateTextureObject(cudaTextureObject_t* texture, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* how, const void* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t texture);
}

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc();

#define COTANGENT_TEXTURE(name)                                     \
  template <class T, class... Where>                                \
  __device__ T name(cudaTextureObject_t texture, Where... where);   \
  template <class T, class... Where>                                \
  __device__ void name(T* value, cudaTextureObject_t texture, Where... where);

COTANGENT_TEXTURES(COTANGENT_TEXTURE)
#undef COTANGENT_TEXTURE

#define COTANGENT_SURFACE(name)                                          \
  template <class T, class... Where>                                     \
  __device__ T name##read(cudaSurfaceObject_t surface, Where... where);  \
  template <class T, class... Where>                                     \
  __device__ void name##write(T value, cudaSurfaceObject_t surface, Where... where);

COTANGENT_SURFACES(COTANGENT_SURFACE)
#undef COTANGENT_SURFACE
