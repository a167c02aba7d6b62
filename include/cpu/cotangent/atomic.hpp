// CUDA's atomic functions. Blocks run in parallel, so these are real atomic operations.
//
// The type comes from the address alone, as with CUDA's overloads: `atomicAdd(&sum_of_float, 1)`
// converts the 1. The block and system scopes are the same as the device's here. Being templates,
// they give way to functions that a program defines itself for its own types.
#pragma once

#include "cotangent/thread.hpp"

namespace cotangent {

// Keeps a parameter out of template deduction.
template <class T>
struct Same {
  using type = T;
};
template <class T>
using same = typename Same<T>::type;

template <bool condition>
struct Require {};
template <>
struct Require<true> {
  using type = int;
};

template <class T>
constexpr bool is_integer = __is_integral(T) && (sizeof(T) == 4 || sizeof(T) == 8);
template <class T>
constexpr bool is_float = __is_floating_point(T) && (sizeof(T) == 4 || sizeof(T) == 8);

template <class T>
using if_integer = typename Require<is_integer<T>>::type;
template <class T>
using if_number = typename Require<is_integer<T> || is_float<T>>::type;

// The unsigned integer of a size, on which other types are exchanged.
template <size_t bytes>
struct Word;
template <>
struct Word<2> {
  using type = uint16_t;
};
template <>
struct Word<4> {
  using type = uint32_t;
};
template <>
struct Word<8> {
  using type = uint64_t;
};

// Replaces the value by `update(value)` in one step and returns the old one.
template <class T, class Update>
COTANGENT_INLINE T update_atomically(T* address, Update update) {
  using Bits = typename Word<sizeof(T)>::type;
  Bits* place = reinterpret_cast<Bits*>(address);
  Bits old = __atomic_load_n(place, __ATOMIC_RELAXED);
  for (;;) {
    const T value = __builtin_bit_cast(T, old);
    const T next = update(value);
    if (__atomic_compare_exchange_n(place, &old, __builtin_bit_cast(Bits, next), true, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED)) {
      return value;
    }
  }
}

}  // namespace cotangent

template <class T, ::cotangent::if_number<T> = 0>
COTANGENT_INLINE T atomicAdd(T* address, ::cotangent::same<T> value) {
  if constexpr (::cotangent::is_integer<T>) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
  } else {
    return ::cotangent::update_atomically(address, [=](T old) { return old + value; });
  }
}
template <class T, ::cotangent::if_integer<T> = 0>
COTANGENT_INLINE T atomicSub(T* address, ::cotangent::same<T> value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <class T, ::cotangent::if_number<T> = 0>
COTANGENT_INLINE T atomicExch(T* address, ::cotangent::same<T> value) {
  using Bits = typename ::cotangent::Word<sizeof(T)>::type;
  return __builtin_bit_cast(T, __atomic_exchange_n(reinterpret_cast<Bits*>(address),
                                                   __builtin_bit_cast(Bits, value), __ATOMIC_RELAXED));
}
template <class T, ::cotangent::if_integer<T> = 0>
COTANGENT_INLINE T atomicMin(T* address, ::cotangent::same<T> value) {
  return ::cotangent::update_atomically(address, [=](T old) { return value < old ? value : old; });
}
template <class T, ::cotangent::if_integer<T> = 0>
COTANGENT_INLINE T atomicMax(T* address, ::cotangent::same<T> value) {
  return ::cotangent::update_atomically(address, [=](T old) { return old < value ? value : old; });
}
template <class T, ::cotangent::if_integer<T> = 0>
COTANGENT_INLINE T atomicAnd(T* address, ::cotangent::same<T> value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T, ::cotangent::if_integer<T> = 0>
COTANGENT_INLINE T atomicOr(T* address, ::cotangent::same<T> value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T, ::cotangent::if_integer<T> = 0>
COTANGENT_INLINE T atomicXor(T* address, ::cotangent::same<T> value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
// Counts up to `limit` and then starts at 0 again.
COTANGENT_INLINE unsigned atomicInc(unsigned* address, unsigned limit) {
  return ::cotangent::update_atomically(address, [=](unsigned old) { return old >= limit ? 0u : old + 1u; });
}
// Counts down to 0 and then starts at `limit` again.
COTANGENT_INLINE unsigned atomicDec(unsigned* address, unsigned limit) {
  return ::cotangent::update_atomically(
      address, [=](unsigned old) { return old == 0u || old > limit ? limit : old - 1u; });
}
template <class T>
COTANGENT_INLINE T atomicCAS(T* address, ::cotangent::same<T> expected, ::cotangent::same<T> value) {
  static_assert(__is_integral(T) && sizeof(T) >= 2, "atomicCAS works on integers of 16, 32 and 64 bits");
  __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

// The narrower and wider scopes.
#define COTANGENT_ATOMIC_SCOPES(name)                                                      \
  template <class T>                                                                       \
  COTANGENT_INLINE auto name##_block(T* address, ::cotangent::same<T> value) {              \
    return name(address, value);                                                           \
  }                                                                                        \
  template <class T>                                                                       \
  COTANGENT_INLINE auto name##_system(T* address, ::cotangent::same<T> value) {             \
    return name(address, value);                                                           \
  }
COTANGENT_ATOMIC_SCOPES(atomicAdd)
COTANGENT_ATOMIC_SCOPES(atomicSub)
COTANGENT_ATOMIC_SCOPES(atomicExch)
COTANGENT_ATOMIC_SCOPES(atomicMin)
COTANGENT_ATOMIC_SCOPES(atomicMax)
COTANGENT_ATOMIC_SCOPES(atomicAnd)
COTANGENT_ATOMIC_SCOPES(atomicOr)
COTANGENT_ATOMIC_SCOPES(atomicXor)
COTANGENT_ATOMIC_SCOPES(atomicInc)
COTANGENT_ATOMIC_SCOPES(atomicDec)
#undef COTANGENT_ATOMIC_SCOPES

template <class T>
COTANGENT_INLINE T atomicCAS_block(T* address, ::cotangent::same<T> expected, ::cotangent::same<T> value) {
  return atomicCAS(address, expected, value);
}
template <class T>
COTANGENT_INLINE T atomicCAS_system(T* address, ::cotangent::same<T> expected, ::cotangent::same<T> value) {
  return atomicCAS(address, expected, value);
}

// A vector is added element by element, as CUDA does.
inline float2 atomicAdd(float2* address, float2 value) {
  return float2{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y)};
}
inline float4 atomicAdd(float4* address, float4 value) {
  return float4{atomicAdd(&address->x, value.x), atomicAdd(&address->y, value.y),
                atomicAdd(&address->z, value.z), atomicAdd(&address->w, value.w)};
}

COTANGENT_INLINE void __threadfence() {
  ::cotangent::settle_block_sum();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
COTANGENT_INLINE void __threadfence_block() {
  ::cotangent::settle_block_sum();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
COTANGENT_INLINE void __threadfence_system() {
  ::cotangent::settle_block_sum();
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
