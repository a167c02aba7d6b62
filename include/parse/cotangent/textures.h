// Declarations of textures and surfaces: enough to read a program that uses
// them and to say at which call. None of them can be run or differentiated.
#pragma once

#include "host_defines.h"

typedef unsigned long long cudaTextureObject_t;
typedef unsigned long long cudaSurfaceObject_t;

#define COTANGENT_TEXTURE(name)                                     \
  template <class T, class... Where>                                \
  __device__ T name(cudaTextureObject_t texture, Where... where);   \
  template <class T, class... Where>                                \
  __device__ void name(T* value, cudaTextureObject_t texture, Where... where);

COTANGENT_TEXTURE(tex1Dfetch)
COTANGENT_TEXTURE(tex1D)
COTANGENT_TEXTURE(tex1DLod)
COTANGENT_TEXTURE(tex1DGrad)
COTANGENT_TEXTURE(tex1DLayered)
COTANGENT_TEXTURE(tex2D)
COTANGENT_TEXTURE(tex2Dgather)
COTANGENT_TEXTURE(tex2DLod)
COTANGENT_TEXTURE(tex2DGrad)
COTANGENT_TEXTURE(tex2DLayered)
COTANGENT_TEXTURE(tex3D)
COTANGENT_TEXTURE(tex3DLod)
COTANGENT_TEXTURE(tex3DGrad)
COTANGENT_TEXTURE(texCubemap)
#undef COTANGENT_TEXTURE

#define COTANGENT_SURFACE(name)                                          \
  template <class T, class... Where>                                     \
  __device__ T name##read(cudaSurfaceObject_t surface, Where... where);  \
  template <class T, class... Where>                                     \
  __device__ void name##write(T value, cudaSurfaceObject_t surface, Where... where);

COTANGENT_SURFACE(surf1D)
COTANGENT_SURFACE(surf2D)
COTANGENT_SURFACE(surf3D)
COTANGENT_SURFACE(surf1DLayered)
COTANGENT_SURFACE(surf2DLayered)
#undef COTANGENT_SURFACE
