// The operator @SPACE@::@NAME@, made by Cotangent from the kernel of @SOURCE@. build.py compiles it.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>
#ifdef WITH_CUDA
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#endif

#include <limits>
#include <tuple>

#include "kernels.h"

namespace {

using at::Tensor;

// What the kernels of a device are called, and where they are launched.
struct Cpu {
  static constexpr bool waits = true;
  struct Guard {
    explicit Guard(const at::Device&) {}
    void* stream() const { return nullptr; }
  };
@KERNELS_CPU@
};

#ifdef WITH_CUDA
struct Cuda {
  static constexpr bool waits = false;
  struct Guard {
    c10::cuda::CUDAGuard device;
    explicit Guard(const at::Device& of) : device(of) {}
    void* stream() const { return c10::cuda::getCurrentCUDAStream().stream(); }
  };
@KERNELS_CUDA@
};
#endif

// What arrays have in common: their sizes, by the names that they were given.
template <class Int>
struct Sizes {
@SIZE_FIELDS@
};

c10::IntArrayRef shape_of(const Tensor& array, int64_t) { return array.sizes(); }
c10::SymIntArrayRef shape_of(const Tensor& array, const c10::SymInt&) { return array.sym_sizes(); }

template <class Int>
Sizes<Int> sizes_of(@SIZES_PARAMETERS@) {
  Sizes<Int> s;
@SIZES_BODY@
  return s;
}

@SHAPES@

void check_like(const Tensor& array, const char* name, at::ScalarType type, const Tensor& first) {
  TORCH_CHECK(array.scalar_type() == type, "@SPACE@::@NAME@: ", name, " is of type ", array.scalar_type(), ", and is to be of type ", type);
  TORCH_CHECK(array.device() == first.device(), "@SPACE@::@NAME@: ", name, " is on ", array.device(), ", and another tensor on ", first.device());
}

void check(int code, const char* text) { TORCH_CHECK(code == 0, "@SPACE@::@NAME@: a launch failed: ", text); }

unsigned as_size(int64_t size) {
  TORCH_CHECK(size >= 0 && size <= std::numeric_limits<int>::max(), "@SPACE@::@NAME@: a launch of ", size, " blocks or threads");
  return static_cast<unsigned>(size);
}

template <class Number>
Number as_number(int64_t value) {
  TORCH_CHECK(static_cast<int64_t>(static_cast<Number>(value)) == value, "@SPACE@::@NAME@: ", value, " does not fit the kernel's parameter");
  return static_cast<Number>(value);
}

Launch launch_of(const Sizes<int64_t>& s@NUMBERS_AFTER@) {
  return {{@GRID@}, {@BLOCK@}, static_cast<size_t>(@SHARED@), nullptr, false};
}

bool is_empty(const Launch& launch) { return launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0; }

void check_inputs(@INPUTS_TYPED@) {
@CHECK_INPUTS@
}

@FUNCTIONS@

}  // namespace

TORCH_LIBRARY_FRAGMENT(@SPACE@, library) {
@SCHEMAS@
}

TORCH_LIBRARY_IMPL(@SPACE@, CPU, library) {
@IMPL_CPU@
}

#ifdef WITH_CUDA
TORCH_LIBRARY_IMPL(@SPACE@, CUDA, library) {
@IMPL_CUDA@
}
#endif

// Shapes alone, for torch.compile.
TORCH_LIBRARY_IMPL(@SPACE@, Meta, library) {
@IMPL_META@
}

TORCH_LIBRARY_IMPL(@SPACE@, Autograd, library) {
@IMPL_AUTOGRAD@
}
