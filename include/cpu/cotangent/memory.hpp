// Loads and stores that name a cache policy, which on the CPU are plain ones,
// and the queries for an address space.
//
// They are always inlined, so that the access is found at the place of the
// user's that made it.
#pragma once

#include <stddef.h>

#define COTANGENT_LOAD(name)                                              \
  template <class T>                                                      \
  inline __attribute__((always_inline)) T name(const T* address) {        \
    return *address;                                                      \
  }

// The value's type comes from the address alone, so that a literal converts.
#define COTANGENT_STORE(name)                                                                        \
  template <class T>                                                                                 \
  inline __attribute__((always_inline)) void name(T* address, const ::cotangent::Identity<T>& value) { \
    *address = value;                                                                                \
  }

namespace cotangent {

template <class T>
struct IdentityOf {
  using type = T;
};
template <class T>
using Identity = typename IdentityOf<T>::type;

}  // namespace cotangent

COTANGENT_LOAD(__ldg)
COTANGENT_LOAD(__ldca)
COTANGENT_LOAD(__ldcg)
COTANGENT_LOAD(__ldcs)
COTANGENT_LOAD(__ldcv)
COTANGENT_LOAD(__ldlu)
COTANGENT_STORE(__stcg)
COTANGENT_STORE(__stcs)
COTANGENT_STORE(__stwb)
COTANGENT_STORE(__stwt)

#undef COTANGENT_LOAD
#undef COTANGENT_STORE
