// Derivatives in the program's own text. C++17; include it as <cotangent/cotangent.hpp>.
//
//   auto g = cotangent::gradient(saxpy, "y, x");                        reverse mode, with respect to y and x
//   g.execute_kernel(grid, block, n, a, x, y, d_y, d_x);                a kernel: its arguments, then the adjoints
//   auto p = cotangent::vjp(saxpy, "y, x");                             reverse mode as frameworks want it
//   float v = cotangent::gradient(energy, "p").execute(p, d_p);         a function of the host or the device
//   auto t = cotangent::pushforward(saxpy, "y, x");                     forward mode: tangents in place of adjoints
//   puts(g.source());                                                   the text of the derivative
//
// Cotangent reads the program, writes the derivatives after it and puts them where they are asked for:
// `cotangent cc nvcc ARGS...` in place of `nvcc ARGS...`, or `cotangent run FILE.cu` on the CPU. docs/api.md says more.
#pragma once

#if !defined(COTANGENT_ANSWERED) && !defined(COTANGENT_READING)
#error "cotangent::gradient needs Cotangent: compile with `cotangent cc nvcc ARGS...` in place of `nvcc ARGS...`, or run `cotangent run FILE.cu`"
#endif

#if !defined(COTANGENT_ANSWERED)

// While Cotangent reads the program: what the requests are, before there are derivatives.
#include <cotangent/budget.hpp>

namespace cotangent {

template <class Result>
struct Requested {
  template <class... Arguments>
  __host__ __device__ Result execute(Arguments&&...) const {
    __builtin_trap();
  }
  template <class... Arguments>
  void execute_kernel(dim3, dim3, Arguments&&...) const {
    __builtin_trap();
  }
  static const char* source() { __builtin_trap(); }
};

template <class Result, class... Parameters>
__host__ __device__ Requested<Result> gradient(Result (*)(Parameters...), const char* = nullptr) {
  return {};
}

// `cotangent::gradient(f, "u", cotangent::budget("2GiB"))`: what checkpoints of a function of the host may take.
template <class Result, class... Parameters>
Requested<Result> gradient(Result (*)(Parameters...), const char*, const Budget&) {
  return {};
}

template <class Result, class... Parameters>
__host__ __device__ Requested<Result> vjp(Result (*)(Parameters...), const char* = nullptr) {
  return {};
}

template <class Result, class... Parameters>
__host__ __device__ Requested<Result> pushforward(Result (*)(Parameters...), const char* = nullptr) {
  return {};
}

}  // namespace cotangent

#else

#include <cotangent/budget.hpp>
#include <cotangent/runtime.hpp>

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace cotangent {

// False, but known to be only when a template is used.
template <class...>
inline constexpr bool never = false;

// Every request has been replaced by an object of its own; one that is still there was not seen.
template <class... Whatever>
__host__ __device__ auto gradient(Whatever...) {
  static_assert(never<Whatever...>, "this request was not answered: ask in a function that is no template");
}

template <class... Whatever>
__host__ __device__ auto vjp(Whatever...) {
  static_assert(never<Whatever...>, "this request was not answered: ask in a function that is no template");
}

template <class... Whatever>
__host__ __device__ auto pushforward(Whatever...) {
  static_assert(never<Whatever...>, "this request was not answered: ask in a function that is no template");
}

// Whether a type is a struct that stands for one of the program's: the same fields in the same places.
template <class>
inline constexpr bool is_copy = false;

template <class Parameter, class Argument>
inline constexpr bool stands_for = is_copy<std::remove_cv_t<Parameter>> && std::is_class_v<Argument> &&
                                   sizeof(Parameter) == sizeof(Argument) && std::is_trivially_copyable_v<Argument>;

// An argument as the parameter of a derivative.
template <class Parameter, class Argument>
__host__ __device__ Parameter as(Argument&& argument) {
  using Given = std::remove_reference_t<Argument>;
  using Wanted = std::remove_reference_t<Parameter>;
  if constexpr (std::is_reference_v<Parameter>) {
    if constexpr (std::is_convertible_v<Given*, Wanted*>) {
      return argument;
    } else {
      static_assert(stands_for<Wanted, std::remove_cv_t<Given>>, "a reference needs a variable of exactly its type");
      return reinterpret_cast<Parameter>(argument);
    }
  } else if constexpr (std::is_convertible_v<Argument, Parameter>) {
    return static_cast<Argument&&>(argument);
  } else if constexpr (std::is_enum_v<Given>) {
    return static_cast<Parameter>(argument);
  } else if constexpr (std::is_pointer_v<Given> && std::is_pointer_v<Parameter>) {
    static_assert(stands_for<std::remove_pointer_t<Parameter>, std::remove_cv_t<std::remove_pointer_t<Given>>>,
                  "a pointer among the arguments or adjoints is of another type than its parameter");
    return reinterpret_cast<Parameter>(argument);
  } else {
    static_assert(stands_for<Parameter, std::remove_cv_t<Given>>,
                  "a value among the arguments or adjoints is of another type than its parameter");
    Parameter copy;
    memcpy(&copy, &argument, sizeof(copy));
    return copy;
  }
}

// What a derivative returns, as the program's type.
template <class Result, class Value>
__host__ __device__ Result as_result(const Value& value) {
  if constexpr (std::is_same_v<Result, Value>) {
    return value;
  } else {
    static_assert(stands_for<Value, Result>, "the type of the result is unknown");
    union Place {
      char nothing;
      Result result;
      __host__ __device__ Place() : nothing() {}
    } place;
    memcpy(&place, &value, sizeof(value));
    return place.result;
  }
}

// The array that an argument is, for the test of overlap. What is only read and has no derivative may be anywhere.
template <class Parameter, class Argument>
const volatile void* array_of(const Argument& argument) {
  if constexpr (std::is_pointer_v<Argument>) {
    using Element = std::remove_pointer_t<Parameter>;
    if constexpr (std::is_object_v<Element> && !(std::is_const_v<Element> && std::is_integral_v<Element>)) {
      return argument;
    }
  }
  return nullptr;
}

// `may_be_one` says of which arrays two may be one; without it, of none.
inline void require_distinct(std::initializer_list<const volatile void*> arrays,
                             std::initializer_list<bool> may_be_one = {}) {
  const auto may = [&](const auto* array) {
    return may_be_one.size() > 0 && may_be_one.begin()[array - arrays.begin()];
  };
  for (const auto* first = arrays.begin(); first != arrays.end(); ++first) {
    for (const auto* second = first + 1; second != arrays.end(); ++second) {
      if (*first != nullptr && *first == *second && !(may(first) && may(second))) {
        COTANGENT_FAIL("arguments " + std::to_string(first - arrays.begin() + 1) + " and " +
                       std::to_string(second - arrays.begin() + 1) +
                       " of a derivative are the same array: its derivatives would be counted together");
      }
    }
  }
}

inline cudaStream_t as_stream(cudaStream_t stream) { return stream; }
inline cudaStream_t as_stream(std::nullptr_t) { return nullptr; }
inline cudaStream_t as_stream(int) { return nullptr; }

// Runs with what of the configuration is given in front of the arguments: nothing, the bytes of dynamic shared memory,
// or these and a stream.
template <std::size_t Count, class Run, class... Arguments>
void configured(Run run, Arguments... arguments) {
  if constexpr (sizeof...(Arguments) == Count) {
    run(std::size_t(0), cudaStream_t(nullptr), arguments...);
  } else if constexpr (sizeof...(Arguments) == Count + 1) {
    [&](std::size_t shared, auto... rest) { run(shared, cudaStream_t(nullptr), rest...); }(arguments...);
  } else {
    static_assert(sizeof...(Arguments) == Count + 2,
                  "execute_kernel takes the grid, the block, the bytes of shared memory and the stream if need be, the "
                  "arguments of the kernel, and one more for each parameter that the request names");
    [&](std::size_t shared, auto stream, auto... rest) { run(shared, as_stream(stream), rest...); }(arguments...);
  }
}

// Launches the derivative of a kernel.
template <auto Kernel>
struct Launch;

template <class... Parameters, void (*Kernel)(Parameters...)>
struct Launch<Kernel> {
  template <class... Arguments>
  static void run(dim3 grid, dim3 block, Arguments... arguments) {
    auto launch = [&](std::size_t shared, cudaStream_t stream, auto... rest) {
      if constexpr (sizeof...(rest) == sizeof...(Parameters)) {
        require_distinct({array_of<Parameters>(rest)...});
        check_block<Kernel>(block, shared);
        Kernel<<<grid, block, shared, stream>>>(as<Parameters>(rest)...);
        check_launch();
      }
    };
    configured<sizeof...(Parameters)>(launch, arguments...);
  }
};

// The same for a derivative that keeps values from one sweep to the other: its launcher sees to their memory.
template <class... Parameters, class... Arguments>
void run_launcher(void (*launch)(dim3, dim3, std::size_t, cudaStream_t, Parameters...), dim3 grid, dim3 block,
                  Arguments... arguments) {
  auto run = [&](std::size_t shared, cudaStream_t stream, auto... rest) {
    if constexpr (sizeof...(rest) == sizeof...(Parameters)) {
      require_distinct({array_of<Parameters>(rest)...});
      launch(grid, block, shared, stream, as<Parameters>(rest)...);
      check_launch();
    }
  };
  configured<sizeof...(Parameters)>(run, arguments...);
}

// Whether an array is only read: such ones may be one.
template <class Parameter>
inline constexpr bool is_read_only = std::is_pointer_v<Parameter> && std::is_const_v<std::remove_pointer_t<Parameter>>;

// The same in the framework form: what nobody writes may be one array, two cotangents for instance.
template <class... Parameters, class... Arguments>
void run_vjp(void (*launch)(dim3, dim3, std::size_t, cudaStream_t, Parameters...), dim3 grid, dim3 block,
             Arguments... arguments) {
  auto run = [&](std::size_t shared, cudaStream_t stream, auto... rest) {
    if constexpr (sizeof...(rest) == sizeof...(Parameters)) {
      require_distinct({array_of<Parameters>(rest)...}, {is_read_only<Parameters>...});
      launch(grid, block, shared, stream, as<Parameters>(rest)...);
      check_launch();
    }
  };
  configured<sizeof...(Parameters)>(run, arguments...);
}

// Calls the derivative of a function.
template <auto Function>
struct Call;

template <class Value, class... Parameters, Value (*Function)(Parameters...)>
struct Call<Function> {
  template <class Result, class... Arguments>
  static Result on_host(Arguments&&... arguments) {
    require_distinct({array_of<Parameters>(arguments)...});
    return called<Result>(static_cast<Arguments&&>(arguments)...);
  }

  // In the framework form.
  template <class Result, class... Arguments>
  static Result on_host_pure(Arguments&&... arguments) {
    require_distinct({array_of<Parameters>(arguments)...}, {is_read_only<Parameters>...});
    return called<Result>(static_cast<Arguments&&>(arguments)...);
  }

  template <class Result, class... Arguments>
  static Result called(Arguments&&... arguments) {
    check_count<Arguments...>();
    if constexpr (std::is_void_v<Value>) {
      Function(as<Parameters>(static_cast<Arguments&&>(arguments))...);
    } else {
      return as_result<Result>(Function(as<Parameters>(static_cast<Arguments&&>(arguments))...));
    }
  }

  template <class Result, class... Arguments>
  __device__ static Result on_device(Arguments&&... arguments) {
    check_count<Arguments...>();
    if constexpr (std::is_void_v<Value>) {
      Function(as<Parameters>(static_cast<Arguments&&>(arguments))...);
    } else {
      return as_result<Result>(Function(as<Parameters>(static_cast<Arguments&&>(arguments))...));
    }
  }

 private:
  template <class... Arguments>
  __host__ __device__ static constexpr void check_count() {
    static_assert(sizeof...(Arguments) == sizeof...(Parameters),
                  "execute takes the arguments of the function, and one more for each parameter that the request names");
  }
};

}  // namespace cotangent

#endif
