// What threads do together: barriers, shuffles, votes, matches and reductions.
//
// The runtime does the waiting; these functions only carry values there and back. Each passes the
// place where the user calls it, because a barrier is known by its place.
#pragma once

#include "cotangent/thread.hpp"

namespace cotangent {

template <class T>
COTANGENT_UNCHECKED inline uint64_t to_bits(const T& value) {
  static_assert(sizeof(T) <= 8 && __is_trivially_copyable(T), "a warp exchanges values of at most 8 bytes");
  uint64_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}

template <class T>
COTANGENT_UNCHECKED inline T from_bits(uint64_t bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

COTANGENT_UNCHECKED inline uint64_t collective(CotangentCollective operation, unsigned mask, uint64_t value,
                                               CotangentSite site, unsigned argument = 0, unsigned width = 32) {
  settle_block_sum();
  return api->collective(operation, mask, value, argument, width, site.file, site.line);
}

COTANGENT_UNCHECKED inline int barrier(CotangentBarrier kind, int predicate, CotangentSite site) {
  settle_block_sum();
  const int result = api->barrier(kind, predicate, site.file, site.line);
  // A thread that ended may have completed the barrier.
  settle_block_sum();
  return result;
}

template <class T>
COTANGENT_UNCHECKED inline T shuffle(CotangentCollective operation, unsigned mask, const T& value,
                                     unsigned argument, int width, CotangentSite site) {
  if constexpr (sizeof(T) <= 8) {
    return from_bits<T>(collective(operation, mask, to_bits(value), site, argument, static_cast<unsigned>(width)));
  } else {
    // Records, as cooperative groups pass them: one word after another.
    static_assert(__is_trivially_copyable(T), "a warp exchanges plain values");
    uint64_t words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (uint64_t& word : words) {
      word = collective(operation, mask, word, site, argument, static_cast<unsigned>(width));
    }
    T result;
    __builtin_memcpy(&result, words, sizeof(T));
    return result;
  }
}

}  // namespace cotangent

COTANGENT_INLINE void __syncthreads(CotangentSite site = ::cotangent::here()) {
  ::cotangent::barrier(COTANGENT_BARRIER_PLAIN, 0, site);
}
COTANGENT_INLINE int __syncthreads_count(int predicate, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::barrier(COTANGENT_BARRIER_COUNT, predicate, site);
}
COTANGENT_INLINE int __syncthreads_and(int predicate, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::barrier(COTANGENT_BARRIER_AND, predicate, site);
}
COTANGENT_INLINE int __syncthreads_or(int predicate, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::barrier(COTANGENT_BARRIER_OR, predicate, site);
}
COTANGENT_INLINE void __syncwarp(unsigned mask = 0xffffffffu, CotangentSite site = ::cotangent::here()) {
  ::cotangent::collective(COTANGENT_WARP_SYNC, mask, 0, site);
}
COTANGENT_UNCHECKED inline unsigned __activemask(CotangentSite site = ::cotangent::here()) {
  return ::cotangent::api->active_mask(site.file, site.line);
}

template <class T>
COTANGENT_INLINE T __shfl_sync(unsigned mask, T value, int lane, int width = 32,
                               CotangentSite site = ::cotangent::here()) {
  return ::cotangent::shuffle(COTANGENT_SHUFFLE_INDEX, mask, value, static_cast<unsigned>(lane), width, site);
}
template <class T>
COTANGENT_INLINE T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                  CotangentSite site = ::cotangent::here()) {
  return ::cotangent::shuffle(COTANGENT_SHUFFLE_UP, mask, value, delta, width, site);
}
template <class T>
COTANGENT_INLINE T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                    CotangentSite site = ::cotangent::here()) {
  return ::cotangent::shuffle(COTANGENT_SHUFFLE_DOWN, mask, value, delta, width, site);
}
template <class T>
COTANGENT_INLINE T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                                   CotangentSite site = ::cotangent::here()) {
  return ::cotangent::shuffle(COTANGENT_SHUFFLE_XOR, mask, value, static_cast<unsigned>(lane_mask), width, site);
}

COTANGENT_INLINE unsigned __ballot_sync(unsigned mask, int predicate, CotangentSite site = ::cotangent::here()) {
  return static_cast<unsigned>(::cotangent::collective(COTANGENT_BALLOT, mask, predicate != 0, site));
}
COTANGENT_INLINE int __any_sync(unsigned mask, int predicate, CotangentSite site = ::cotangent::here()) {
  return static_cast<int>(::cotangent::collective(COTANGENT_ANY, mask, predicate != 0, site));
}
COTANGENT_INLINE int __all_sync(unsigned mask, int predicate, CotangentSite site = ::cotangent::here()) {
  return static_cast<int>(::cotangent::collective(COTANGENT_ALL, mask, predicate != 0, site));
}
COTANGENT_INLINE int __uni_sync(unsigned mask, int predicate, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::collective(COTANGENT_MATCH_ALL, mask, predicate != 0, site) != 0;
}

template <class T>
COTANGENT_INLINE unsigned __match_any_sync(unsigned mask, T value, CotangentSite site = ::cotangent::here()) {
  return static_cast<unsigned>(::cotangent::collective(COTANGENT_MATCH_ANY, mask, ::cotangent::to_bits(value), site));
}
template <class T>
COTANGENT_INLINE unsigned __match_all_sync(unsigned mask, T value, int* all_equal,
                                           CotangentSite site = ::cotangent::here()) {
  const uint64_t lanes = ::cotangent::collective(COTANGENT_MATCH_ALL, mask, ::cotangent::to_bits(value), site);
  *all_equal = lanes != 0;
  return static_cast<unsigned>(lanes);
}

namespace cotangent {

COTANGENT_UNCHECKED inline unsigned reduce(CotangentCollective operation, unsigned mask, unsigned value,
                                           CotangentSite site) {
  return static_cast<unsigned>(collective(operation, mask, value, site));
}

}  // namespace cotangent

COTANGENT_INLINE unsigned __reduce_add_sync(unsigned mask, unsigned value, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::reduce(COTANGENT_REDUCE_ADD, mask, value, site);
}
COTANGENT_INLINE int __reduce_add_sync(unsigned mask, int value, CotangentSite site = ::cotangent::here()) {
  return static_cast<int>(::cotangent::reduce(COTANGENT_REDUCE_ADD, mask, static_cast<unsigned>(value), site));
}
COTANGENT_INLINE unsigned __reduce_min_sync(unsigned mask, unsigned value, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::reduce(COTANGENT_REDUCE_MIN_UNSIGNED, mask, value, site);
}
COTANGENT_INLINE int __reduce_min_sync(unsigned mask, int value, CotangentSite site = ::cotangent::here()) {
  return static_cast<int>(::cotangent::reduce(COTANGENT_REDUCE_MIN_SIGNED, mask, static_cast<unsigned>(value), site));
}
COTANGENT_INLINE unsigned __reduce_max_sync(unsigned mask, unsigned value, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::reduce(COTANGENT_REDUCE_MAX_UNSIGNED, mask, value, site);
}
COTANGENT_INLINE int __reduce_max_sync(unsigned mask, int value, CotangentSite site = ::cotangent::here()) {
  return static_cast<int>(::cotangent::reduce(COTANGENT_REDUCE_MAX_SIGNED, mask, static_cast<unsigned>(value), site));
}
COTANGENT_INLINE unsigned __reduce_and_sync(unsigned mask, unsigned value, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::reduce(COTANGENT_REDUCE_AND, mask, value, site);
}
COTANGENT_INLINE unsigned __reduce_or_sync(unsigned mask, unsigned value, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::reduce(COTANGENT_REDUCE_OR, mask, value, site);
}
COTANGENT_INLINE unsigned __reduce_xor_sync(unsigned mask, unsigned value, CotangentSite site = ::cotangent::here()) {
  return ::cotangent::reduce(COTANGENT_REDUCE_XOR, mask, value, site);
}

// The clock of the processor, and the ways to stop.
inline long long clock64() { return static_cast<long long>(__builtin_readcyclecounter()); }
inline void __nanosleep(unsigned) {}
inline void __prof_trigger(int) {}
inline void __brkpt() {}
COTANGENT_UNCHECKED inline void __trap(CotangentSite site = ::cotangent::here()) {
  ::cotangent::api->trap(site.file, site.line);
  __builtin_trap();
}
