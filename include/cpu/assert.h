// The C library's assert, for code that may run inside a kernel: there a failing assertion prints
// the block and the thread and ends the launch, as on a GPU, and on the host it aborts as usual.
// Like the original, this file may be included several times with or without NDEBUG.
#include_next <assert.h>

#ifdef __cplusplus
#ifndef COTANGENT_ASSERT_H
#define COTANGENT_ASSERT_H
namespace cotangent {
// Defined in support.cpp.
__attribute__((noinline, cold, noreturn)) void assertion_failed(const char* expression, const char* file,
                                                                unsigned line, const char* function);
}
#endif

#ifndef NDEBUG
#undef assert
#define assert(expression)                         \
  (static_cast<bool>(expression) ? void(0)         \
                                 : ::cotangent::assertion_failed(#expression, __FILE__, __LINE__, __func__))
#endif
#endif
