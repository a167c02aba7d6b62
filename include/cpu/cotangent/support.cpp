// The part of the CPU headers that is compiled once into each program: the builtin variables, and
// the entry through which the runtime attaches.
#include "cotangent/cpu.hpp"

#include <assert.h>
#include <cxxabi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <exception>
#include <string>
#include <typeinfo>

// Nothing in this file is the user's.
#pragma clang attribute push(__attribute__((disable_sanitizer_instrumentation)), apply_to = function)

#if __has_feature(thread_sanitizer)
#include "cotangent/instrumentation.hpp"
#endif

__thread uint3 threadIdx COTANGENT_THREAD_LOCAL = {0, 0, 0};
__thread uint3 blockIdx COTANGENT_THREAD_LOCAL = {0, 0, 0};
__thread dim3 blockDim COTANGENT_THREAD_LOCAL = {1, 1, 1};
__thread dim3 gridDim COTANGENT_THREAD_LOCAL = {1, 1, 1};

// The end of static shared memory: this file is linked last, and the guard stays where the linker drops what is not used.
// It follows the last variable without a gap, which would be nobody's.
__attribute__((used, retain, aligned(1), section("cotangent_shared"))) static __thread char shared_guard[COTANGENT_SHARED_GUARD];

extern "C" uint32_t cotangent_attach(const CotangentApi* table);

namespace cotangent {

const CotangentApi* api = nullptr;
__thread bool in_kernel COTANGENT_THREAD_LOCAL = false;
__thread unsigned int dynamic_bytes COTANGENT_THREAD_LOCAL = 0;
__thread BlockSum block_sum COTANGENT_THREAD_LOCAL = {nullptr, 0, nullptr};

uint64_t managed_begin = 0;
uint64_t managed_end = 0;

void managed_variable(const volatile void* address, uint64_t bytes) {
  const uint64_t begin = reinterpret_cast<uint64_t>(address);
  if (managed_end == 0 || begin < managed_begin) managed_begin = begin;
  if (begin + bytes > managed_end) managed_end = begin + bytes;
}

CotangentDim* enter_block(const CotangentLaunch* launch, CotangentDim block_index) {
  ::blockIdx = {block_index.x, block_index.y, block_index.z};
  ::blockDim = dim3(launch->block.x, launch->block.y, launch->block.z);
  ::gridDim = dim3(launch->grid.x, launch->grid.y, launch->grid.z);
  static_assert(sizeof(uint3) == sizeof(CotangentDim), "the runtime writes threadIdx as a CotangentDim");
  in_kernel = true;
  // A block that failed may have left one.
  block_sum.place = nullptr;
  dynamic_bytes = static_cast<unsigned int>(launch->shared_bytes);
  return reinterpret_cast<CotangentDim*>(&::threadIdx);
}

void leave_block() {
  settle_block_sum();
  in_kernel = false;
}

void assertion_failed(const char* expression, const char* file, unsigned line, const char* function) {
  if (api != nullptr) api->assert_failed(expression, file, line, function);
  // Still here: this is host code.
  __assert_fail(expression, file, line, function);
}

__thread const CotangentSite* printed_site COTANGENT_THREAD_LOCAL = nullptr;

// Constant-initialised, so that it is there before the first static constructor registers a kernel.
static const PrintedKernel* printed_kernels = nullptr;

void PrintedKernel::add() {
  next = printed_kernels;
  printed_kernels = this;
}

[[noreturn]] static void stop(const char* kernel, const char* problem) {
  fprintf(stderr, "cotangent: the printed kernel `%s` %s\n", kernel, problem);
  abort();
}

void run_printed(const char* name, const Configuration& configuration, void* const* arguments, const size_t* sizes,
                 size_t count) {
  const PrintedKernel* kernel = printed_kernels;
  while (kernel != nullptr && strcmp(kernel->name, name) != 0) kernel = kernel->next;
  if (kernel == nullptr) stop(name, "is launched before the program's static constructors have registered it");
  if (kernel->count != count || memcmp(kernel->sizes, sizes, count * sizeof(size_t)) != 0) {
    stop(name, "has parameters of other sizes than the user's");
  }
  printed_site = &configuration.site;
  kernel->call(kernel->launcher, configuration, arguments);
  printed_site = nullptr;
}

// Says what nobody has caught, and ends the program as the C++ library does.
[[noreturn]] static void terminated() {
  std::string text = "std::terminate was called";
  if (const std::type_info* type = abi::__cxa_current_exception_type()) {
    char* name = abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr);
    text = std::string("uncaught exception of type ") + (name != nullptr ? name : type->name());
    free(name);
    try {
      throw;
    } catch (const std::exception& exception) {
      text += std::string(": ") + exception.what();
    } catch (...) {
    }
  }
  api->terminated(text.c_str());
  abort();
}

// The runtime's table is there before the program's own static constructors run, because they may
// allocate memory or launch: its address is in the environment while the program is loaded.
__attribute__((constructor(101))) static void attach_early() {
  if (const char* address = getenv("COTANGENT_RUNTIME_TABLE")) {
    cotangent_attach(reinterpret_cast<const CotangentApi*>(strtoull(address, nullptr, 16)));
    if (api != nullptr) std::set_terminate(terminated);
  }
}

}  // namespace cotangent

// Gives the program its runtime, if both were made for the same table; returns the version that
// the program was compiled against.
extern "C" __attribute__((visibility("default"))) uint32_t cotangent_attach(const CotangentApi* table) {
  if (table->version == COTANGENT_ABI_VERSION) cotangent::api = table;
  return COTANGENT_ABI_VERSION;
}

// Calls the program's main. An exception that leaves it ends here, where C++ still knows what it is.
extern "C" __attribute__((visibility("default"))) int cotangent_run_main(int (*main)(int, char**), int count,
                                                                         char** words) noexcept {
  return main(count, words);
}

// Where these headers are, so that lines in them are not taken for the user's.
extern "C" __attribute__((visibility("default"))) const char* cotangent_support_file() { return __FILE__; }

#pragma clang attribute pop
