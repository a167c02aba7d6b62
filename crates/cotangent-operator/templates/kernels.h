// What launches the kernels, for the CPU and for CUDA. Made by Cotangent.
#pragma once

#include <cstddef>

struct Launch {
  unsigned grid[3];
  unsigned block[3];
  std::size_t shared;
  void* stream;
  bool waits;  // until the kernels are done
};

// Each returns 0, or the error of CUDA that `error` puts into words. All else is hidden: the kernels for the CPU and those for CUDA have
// functions of the same names, and the loader must not mix them.
#pragma GCC visibility push(default)
