// What `assert` calls, for NVRTC, which has no <cassert>.
#pragma once

__device__ inline void __assert_fail(const char* expression, const char* file, unsigned int line, const char* function) {
  printf("%s:%u: %s: Assertion `%s' failed.\n", file, line, function, expression);
  __trap();
}
