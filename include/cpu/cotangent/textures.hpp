// Arrays and textures on the CPU: there are none. Host functions say so by CUDA's error, and a kernel that reads one ends the
// program.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "cotangent/arrays.h"
#include "cotangent/runtime_memory.hpp"

namespace cotangent {
inline cudaError_t no_textures() { return error(api->set_error(cudaErrorNotSupported)); }

[[noreturn]] inline void no_texture(const char* name) {
  fprintf(stderr, "%s: textures and surfaces are not supported on the CPU\n", name);
  abort();
}
}  // namespace cotangent

inline cudaError_t cudaMallocArray(cudaArray_t*, const cudaChannelFormatDesc*, size_t, size_t = 0, unsigned int = 0) {
  return ::cotangent::no_textures();
}
inline cudaError_t cudaFreeArray(cudaArray_t) { return ::cotangent::no_textures(); }
inline cudaError_t cudaMemcpy2DToArray(cudaArray_t, size_t, size_t, const void*, size_t, size_t, size_t,
                                       cudaMemcpyKind) {
  return ::cotangent::no_textures();
}
inline cudaError_t cudaMemcpy2DFromArray(void*, size_t, cudaArray_const_t, size_t, size_t, size_t, size_t,
                                         cudaMemcpyKind) {
  return ::cotangent::no_textures();
}
inline cudaError_t cudaCreateTextureObject(cudaTextureObject_t*, const cudaResourceDesc*, const cudaTextureDesc*,
                                           const void*) {
  return ::cotangent::no_textures();
}
inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t) { return ::cotangent::no_textures(); }

template <class T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
  return {};
}

#define COTANGENT_TEXTURE(name)                      \
  template <class T, class... Where>                 \
  T name(cudaTextureObject_t, Where...) {            \
    ::cotangent::no_texture(#name);                  \
  }                                                  \
  template <class T, class... Where>                 \
  void name(T*, cudaTextureObject_t, Where...) {     \
    ::cotangent::no_texture(#name);                  \
  }

COTANGENT_TEXTURES(COTANGENT_TEXTURE)
#undef COTANGENT_TEXTURE

#define COTANGENT_SURFACE(name)                      \
  template <class T, class... Where>                 \
  T name##read(cudaSurfaceObject_t, Where...) {      \
    ::cotangent::no_texture(#name);                  \
  }                                                  \
  template <class T, class... Where>                 \
  void name##write(T, cudaSurfaceObject_t, Where...) { \
    ::cotangent::no_texture(#name);                  \
  }

COTANGENT_SURFACES(COTANGENT_SURFACE)
#undef COTANGENT_SURFACE
