// The callbacks that Clang's thread-sanitizer instrumentation calls before each access, and its alignment sanitizer
// before misaligned ones, defined here instead of by the sanitizers' runtimes. They pass accesses on to the checks.
//
// Host code passes through at the cost of one test, unless it touches memory of the device. For
// atomic operations the callback also has to carry them out. Included by support.cpp only.
#pragma once

#include <string.h>

#include "cotangent/thread.hpp"

namespace cotangent {

// Whether an access is more than the host's own business. The first range is empty without checks.
static inline bool concerns_checks(const void* address) {
  if (api == nullptr || api->checking == 0) return false;
  const uint64_t number = reinterpret_cast<uint64_t>(address);
  return in_kernel || number - api->device_begin < api->device_bytes ||
         number - managed_begin < managed_end - managed_begin;
}

static inline void report(const void* address, uint64_t bytes, CotangentAccess kind, uint32_t alignment,
                          const void* pc) {
  if (!concerns_checks(address)) return;
  api->access(address, bytes, kind, alignment, pc);
}

}  // namespace cotangent

#define COTANGENT_CALLBACK extern "C" __attribute__((visibility("default"), noinline))
#define COTANGENT_PC __builtin_return_address(0)

COTANGENT_CALLBACK void __tsan_init() {}
COTANGENT_CALLBACK void __tsan_func_entry(void*) {}
COTANGENT_CALLBACK void __tsan_func_exit() {}

// Clang calls the aligned form of 16 bytes already where it knows of 8: it has put two numbers of 8 bytes together.
#define COTANGENT_ACCESSES(size, alignment)                                                         \
  COTANGENT_CALLBACK void __tsan_read##size(void* address) {                                        \
    ::cotangent::report(address, size, COTANGENT_READ, alignment, COTANGENT_PC);                    \
  }                                                                                                 \
  COTANGENT_CALLBACK void __tsan_write##size(void* address) {                                       \
    ::cotangent::report(address, size, COTANGENT_WRITE, alignment, COTANGENT_PC);                   \
  }                                                                                                 \
  COTANGENT_CALLBACK void __tsan_read_write##size(void* address) {                                  \
    ::cotangent::report(address, size, COTANGENT_READ, alignment, COTANGENT_PC);                    \
    ::cotangent::report(address, size, COTANGENT_WRITE, alignment, COTANGENT_PC);                   \
  }                                                                                                 \
  COTANGENT_CALLBACK void __tsan_unaligned_read##size(void* address) {                              \
    ::cotangent::report(address, size, COTANGENT_READ, 1, COTANGENT_PC);                            \
  }                                                                                                 \
  COTANGENT_CALLBACK void __tsan_unaligned_write##size(void* address) {                             \
    ::cotangent::report(address, size, COTANGENT_WRITE, 1, COTANGENT_PC);                           \
  }                                                                                                 \
  COTANGENT_CALLBACK void __tsan_unaligned_read_write##size(void* address) {                        \
    ::cotangent::report(address, size, COTANGENT_READ, 1, COTANGENT_PC);                            \
    ::cotangent::report(address, size, COTANGENT_WRITE, 1, COTANGENT_PC);                           \
  }
COTANGENT_ACCESSES(1, 1)
COTANGENT_ACCESSES(2, 2)
COTANGENT_ACCESSES(4, 4)
COTANGENT_ACCESSES(8, 8)
COTANGENT_ACCESSES(16, 8)
#undef COTANGENT_ACCESSES

namespace cotangent {

// What Clang's alignment sanitizer tells of an access: its type, before anything was optimized.
struct DeclaredAccess {
  const char* file;
  uint32_t line, column;
  const void* type;
  uint8_t log2_alignment;
  uint8_t kind;  // 0 load, 1 store, 3 member
};

}  // namespace cotangent

// Called where an address is no multiple of its type's alignment. A GPU can merge accesses to the members of a struct.
COTANGENT_CALLBACK void __ubsan_handle_type_mismatch_v1(const ::cotangent::DeclaredAccess* access, uintptr_t address) {
  if (!::cotangent::in_kernel || access->kind == 2 || access->kind > 3) return;
  const uint32_t alignment = 1u << access->log2_alignment;
  ::cotangent::report(reinterpret_cast<const void*>(address), alignment,
                      access->kind == 1 ? COTANGENT_WRITE : COTANGENT_READ, alignment, COTANGENT_PC);
}

// Called before each copy of a whole struct, for its source and its destination, by calls that the driver inserts: the
// alignment sanitizer leaves copies out.
COTANGENT_CALLBACK void cotangent_copied(const void* address, uint32_t alignment, uint32_t kind) {
  if (!::cotangent::in_kernel || (reinterpret_cast<uintptr_t>(address) & (alignment - 1)) == 0) return;
  ::cotangent::report(address, alignment, static_cast<CotangentAccess>(kind), alignment, COTANGENT_PC);
}

// A promise of the program's about an alignment, which is not kept; the access itself is looked at.
COTANGENT_CALLBACK void __ubsan_handle_alignment_assumption(void*, uintptr_t, uintptr_t, uintptr_t) {}

COTANGENT_CALLBACK void __tsan_vptr_read(void** address) {
  ::cotangent::report(address, sizeof(void*), COTANGENT_READ, sizeof(void*), COTANGENT_PC);
}
COTANGENT_CALLBACK void __tsan_vptr_update(void** address, void*) {
  ::cotangent::report(address, sizeof(void*), COTANGENT_WRITE, sizeof(void*), COTANGENT_PC);
}

namespace cotangent {

static inline void report_copy(const void* to, const void* from, size_t bytes, const void* pc) {
  if (!concerns_checks(to) && !concerns_checks(from)) return;
  api->access_copy(to, from, bytes, pc);
}

}  // namespace cotangent

COTANGENT_CALLBACK void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
  ::cotangent::report_copy(to, from, bytes, COTANGENT_PC);
  return memcpy(to, from, bytes);
}
COTANGENT_CALLBACK void* __tsan_memmove(void* to, const void* from, size_t bytes) {
  ::cotangent::report_copy(to, from, bytes, COTANGENT_PC);
  return memmove(to, from, bytes);
}
COTANGENT_CALLBACK void* __tsan_memset(void* to, int byte, size_t bytes) {
  ::cotangent::report(to, bytes, COTANGENT_WRITE, 1, COTANGENT_PC);
  return memset(to, byte, bytes);
}

#define COTANGENT_ATOMIC_UPDATE(bits, type, name, builtin)                              \
  COTANGENT_CALLBACK type __tsan_atomic##bits##_##name(type* address, type value, int) { \
    ::cotangent::report(address, sizeof(type), COTANGENT_ATOMIC, sizeof(type), COTANGENT_PC); \
    return builtin(address, value, __ATOMIC_SEQ_CST);                                   \
  }

// Clang's instrumentation passes the expected value by address in the first two forms and by value
// in the third.
#define COTANGENT_ATOMICS(bits, type)                                                             \
  COTANGENT_CALLBACK type __tsan_atomic##bits##_load(const type* address, int) {                  \
    ::cotangent::report(address, sizeof(type), COTANGENT_ATOMIC, sizeof(type), COTANGENT_PC);     \
    return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                            \
  }                                                                                               \
  COTANGENT_CALLBACK void __tsan_atomic##bits##_store(type* address, type value, int) {           \
    ::cotangent::report(address, sizeof(type), COTANGENT_ATOMIC, sizeof(type), COTANGENT_PC);     \
    __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                           \
  }                                                                                               \
  COTANGENT_ATOMIC_UPDATE(bits, type, exchange, __atomic_exchange_n)                              \
  COTANGENT_ATOMIC_UPDATE(bits, type, fetch_add, __atomic_fetch_add)                              \
  COTANGENT_ATOMIC_UPDATE(bits, type, fetch_sub, __atomic_fetch_sub)                              \
  COTANGENT_ATOMIC_UPDATE(bits, type, fetch_and, __atomic_fetch_and)                              \
  COTANGENT_ATOMIC_UPDATE(bits, type, fetch_or, __atomic_fetch_or)                                \
  COTANGENT_ATOMIC_UPDATE(bits, type, fetch_xor, __atomic_fetch_xor)                              \
  COTANGENT_ATOMIC_UPDATE(bits, type, fetch_nand, __atomic_fetch_nand)                            \
  COTANGENT_CALLBACK int __tsan_atomic##bits##_compare_exchange_strong(type* address, type* expected, \
                                                                       type value, int, int) {    \
    ::cotangent::report(address, sizeof(type), COTANGENT_ATOMIC, sizeof(type), COTANGENT_PC);     \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                               \
  COTANGENT_CALLBACK int __tsan_atomic##bits##_compare_exchange_weak(type* address, type* expected, \
                                                                     type value, int, int) {      \
    ::cotangent::report(address, sizeof(type), COTANGENT_ATOMIC, sizeof(type), COTANGENT_PC);     \
    return __atomic_compare_exchange_n(address, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                               \
  COTANGENT_CALLBACK type __tsan_atomic##bits##_compare_exchange_val(type* address, type expected, type value, \
                                                                     int, int) {                  \
    ::cotangent::report(address, sizeof(type), COTANGENT_ATOMIC, sizeof(type), COTANGENT_PC);     \
    __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
    return expected;                                                                              \
  }
COTANGENT_ATOMICS(8, uint8_t)
COTANGENT_ATOMICS(16, uint16_t)
COTANGENT_ATOMICS(32, uint32_t)
COTANGENT_ATOMICS(64, uint64_t)
#undef COTANGENT_ATOMICS
#undef COTANGENT_ATOMIC_UPDATE

COTANGENT_CALLBACK void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
COTANGENT_CALLBACK void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#undef COTANGENT_CALLBACK
#undef COTANGENT_PC
