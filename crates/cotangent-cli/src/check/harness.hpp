// The program that `cotangent check` runs: it reads evaluations from a file, carries each out and writes what memory
// holds afterwards to another. It is appended to the user's text, so that it can name whatever the user's text can; the
// derivatives stand between the two, each in a namespace of its own.
#undef main
// Names of ours that a program may have for something else.
#undef A
#undef C
#undef F
#undef I
#undef P
#undef R
#undef T
#undef U
#undef V
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tuple>
#include <type_traits>
#include <utility>
#include <unistd.h>

namespace cotangent_check {

// The memory of one argument, or what another buffer points to: on the device, and what was copied there.
struct Buffer {
  unsigned char* data;
  unsigned char* host;
  unsigned long bytes;
};

struct Launch {
  dim3 grid, block;
  unsigned long shared;
};

template <class P>
struct Take {
  COTANGENT_UNCHECKED static P from(Buffer& buffer) { return *reinterpret_cast<P*>(buffer.host); }
};
template <class T>
struct Take<T*> {
  COTANGENT_UNCHECKED static T* from(Buffer& buffer) { return reinterpret_cast<T*>(buffer.data); }
};
template <class T>
struct Take<T&> {
  COTANGENT_UNCHECKED static T& from(Buffer& buffer) { return *reinterpret_cast<T*>(buffer.data); }
};

// A stream is the default one.
template <>
struct Take<cudaStream_t> {
  COTANGENT_UNCHECKED static cudaStream_t from(Buffer&) { return nullptr; }
};

template <class... P, size_t... I>
void run_kernel(void (*kernel)(P...), const Launch& launch, Buffer* buffers, std::index_sequence<I...>) {
  ::cotangent::launch(kernel, launch.grid, launch.block, launch.shared)(Take<P>::from(buffers[I])...);
}

// A kernel of the user's.
template <class... P>
void kernel(void (*function)(P...), const Launch& launch, Buffer* buffers) {
  run_kernel(function, launch, buffers, std::index_sequence_for<P...>());
}

// What the one thread does. A lambda in a template loses the attribute.
template <class R, class... P>
struct DeviceCall {
  R (*function)(P...);
  Buffer* buffers;

  template <size_t... I>
  COTANGENT_UNCHECKED void call(std::index_sequence<I...>) const {
    if constexpr (std::is_same<R, void>::value) {
      function(Take<P>::from(buffers[I])...);
    } else {
      *reinterpret_cast<R*>(buffers[sizeof...(P)].data) = function(Take<P>::from(buffers[I])...);
    }
  }

  COTANGENT_UNCHECKED void operator()() const { call(std::index_sequence_for<P...>()); }
};

// A device function of the user's, called by one thread; its result goes behind the arguments.
template <class R, class... P>
void device(R (*function)(P...), const Launch&, Buffer* buffers) {
  ::cotangent::launch(DeviceCall<R, P...>{function, buffers}, dim3(1), dim3(1))();
}

// An argument of a host function, and how many buffers it takes.
template <class P, class = void>
struct Argument {
  static constexpr size_t buffers = 1;
  Buffer* given;

  explicit Argument(Buffer* given) : given(given) {}
  P get() { return Take<P>::from(*given); }
};

// A vector by reference has two: its elements and its size. What it holds after the call goes back to the first.
template <class V>
struct Argument<V&, std::void_t<typename V::value_type, decltype(std::declval<V&>().capacity())>> {
  static constexpr size_t buffers = 2;
  using Element = typename V::value_type;
  Buffer* given;
  std::remove_const_t<V> vector;

  explicit Argument(Buffer* given) : given(given) {
    const size_t size = *reinterpret_cast<size_t*>(given[1].host);
    if (size > given[0].bytes / sizeof(Element)) {
      fprintf(stderr, "a vector of %zu elements was given %lu bytes\n", size, given[0].bytes);
      exit(89);
    }
    const Element* elements = reinterpret_cast<const Element*>(given[0].host);
    vector.assign(elements, elements + size);
  }
  ~Argument() {
    cudaMemcpy(given[0].data, static_cast<const void*>(vector.data()), vector.size() * sizeof(Element),
               cudaMemcpyHostToDevice);
  }
  V& get() { return vector; }
};

// The number of buffers of the first so many arguments.
template <class... P>
constexpr size_t buffers_of(size_t arguments) {
  const size_t each[] = {Argument<P>::buffers..., 0};
  size_t sum = 0;
  for (size_t a = 0; a < arguments; a++) sum += each[a];
  return sum;
}

template <class R, class... P, size_t... I>
void run_host(R (*function)(P...), Buffer* buffers, std::index_sequence<I...>) {
  std::tuple<Argument<P>...> arguments{buffers + buffers_of<P...>(I)...};
  if constexpr (std::is_same<R, void>::value) {
    function(std::get<I>(arguments).get()...);
  } else {
    *reinterpret_cast<R*>(buffers[buffers_of<P...>(sizeof...(P))].data) = function(std::get<I>(arguments).get()...);
  }
}

inline bool is_allocated(const void* memory) {
  cudaPointerAttributes attributes;
  return cudaPointerGetAttributes(&attributes, memory) == cudaSuccess &&
         attributes.type != cudaMemoryTypeUnregistered;
}

// All memory that a derivative allocates must be free again after it, and what it was given may be. A
// GPU's memory is used by others too, and given back in larger pieces, so that nothing can be said there.
struct Allocations {
  size_t before = 0, total = 0;

  Allocations() { cudaMemGetInfo(&before, &total); }

  void check(Buffer* buffers, size_t count) const {
    size_t after = 0, all = 0, expected = before;
    cudaMemGetInfo(&after, &all);
    for (size_t given = 0; given < count; given++) {
      if (!is_allocated(buffers[given].data)) expected += buffers[given].bytes;
    }
#ifdef COTANGENT_CHECK_ON_GPU
    expected = after;
#endif
    if (after != expected) {
      fprintf(stderr, "the derivative leaves %ld bytes of device memory allocated\n", static_cast<long>(expected - after));
      exit(96);
    }
  }
};

// The same for a derivative that frees what it allocates.
template <class R, class... P>
void host_without_leaks(R (*function)(P...), const Launch&, Buffer* buffers) {
  const Allocations allocations;
  run_host(function, buffers, std::index_sequence_for<P...>());
  allocations.check(buffers, sizeof...(P));
}

// A host function, of the user's or printed. Its arrays are managed memory: the host may use them, and the device too.
template <class R, class... P>
void host(R (*function)(P...), const Launch&, Buffer* buffers) {
  run_host(function, buffers, std::index_sequence_for<P...>());
}

template <class... P, size_t... I>
void run_printed(void (*launcher)(dim3, dim3, size_t, cudaStream_t, P...), const Launch& launch, Buffer* buffers,
                 std::index_sequence<I...>) {
  launcher(launch.grid, launch.block, launch.shared, 0, Take<P>::from(buffers[I])...);
}

// The launch of a derivative with adjoints in dynamic shared memory.
inline Launch twice(Launch launch) {
  launch.shared = (launch.shared + 15) / 16 * 32;
  return launch;
}

// A kernel that was printed, by its launcher.
template <class... P>
void printed(void (*launcher)(dim3, dim3, size_t, cudaStream_t, P...), const Launch& launch, Buffer* buffers) {
  run_printed(launcher, launch, buffers, std::index_sequence_for<P...>());
}

// Where a derivative whose record has a stated size says that it is too small.
struct Needed {
  unsigned* counter = nullptr;

  Needed() {
    cudaMalloc(&counter, sizeof(unsigned));
    cudaMemset(counter, 0, sizeof(unsigned));
  }

  ~Needed() {
    unsigned slots = 0;
    cudaMemcpy(&slots, counter, sizeof(unsigned), cudaMemcpyDeviceToHost);
    cudaFree(counter);
    if (slots > 0) {
      fprintf(stderr, "the record is too small: a thread needs %u slots\n", slots);
      exit(95);
    }
  }

  Buffer buffer() const { return {reinterpret_cast<unsigned char*>(counter), nullptr, sizeof(unsigned)}; }
};

// A gradient whose last argument says that its record is too small.
template <class... P>
void limited(void (*launcher)(dim3, dim3, size_t, cudaStream_t, P...), const Launch& launch, Buffer* buffers) {
  Needed needed;
  Buffer given[sizeof...(P)];
  for (unsigned p = 0; p + 1 < sizeof...(P); p++) given[p] = buffers[p];
  given[sizeof...(P) - 1] = needed.buffer();
  run_printed(launcher, launch, given, std::index_sequence_for<P...>());
}

// The record of a derivative, of a size that only a run tells: it takes the place of an argument.
struct OwnRecord {
  Buffer& argument;
  Buffer given;

  OwnRecord(Buffer& argument, unsigned long bytes) : argument(argument), given(argument) {
    void* data = nullptr;
    if (cudaMallocManaged(&data, bytes) != cudaSuccess) {
      fprintf(stderr, "the record of %lu bytes cannot be allocated\n", bytes);
      exit(98);
    }
    argument.data = static_cast<unsigned char*>(data);
    argument.bytes = bytes;
  }

  ~OwnRecord() {
    cudaFree(argument.data);
    argument = given;
  }
};

// For a derivative whose record nobody counts; pages that are not touched cost nothing.
constexpr unsigned long uncounted = 1ul << 28;

// Sees to it that a derivative keeps to the size of the record that another kernel counts for it, or a function computes: what
// lies behind it in the buffer must not change.
struct RecordGuard {
  static constexpr unsigned char unused = 0xa5;
  static constexpr unsigned long behind = 4096;
  Buffer& argument;
  unsigned long used;
  OwnRecord record;

  // `filling` takes the record as its last argument, and that is the argument of the derivative at `position`.
  template <class... P, class... F>
  RecordGuard(void (*counting)(dim3, dim3, size_t, cudaStream_t, P...),
              void (* /*filling*/)(dim3, dim3, size_t, cudaStream_t, F...), unsigned position, const Launch& launch,
              Buffer* buffers)
      : RecordGuard(sizeof(std::remove_pointer_t<std::tuple_element_t<sizeof...(F) - 1, std::tuple<F...>>>) *
                        slots(counting, launch, buffers) * threads(launch),
                    position, buffers) {}

  template <class... P, class F>
  RecordGuard(size_t (*bytes)(dim3, dim3, size_t, cudaStream_t, P...), F /*filling*/, unsigned position,
              const Launch& launch, Buffer* buffers)
      : RecordGuard(computed(bytes, launch, buffers, std::index_sequence_for<P...>()), position, buffers) {}

  RecordGuard(unsigned long used, unsigned position, Buffer* buffers)
      : argument(buffers[position]), used(used), record(argument, used + behind) {
    cudaMemset(argument.data + used, unused, behind);
  }

  ~RecordGuard() {
    unsigned char left[behind];
    cudaMemcpy(left, argument.data + used, behind, cudaMemcpyDeviceToHost);
    for (unsigned char byte : left) {
      if (byte != unused) {
        fprintf(stderr, "the derivative records more than it counts\n");
        exit(94);
      }
    }
  }

  static unsigned long threads(const Launch& launch) {
    const dim3 &grid = launch.grid, &block = launch.block;
    return static_cast<unsigned long>(grid.x) * grid.y * grid.z * block.x * block.y * block.z;
  }

  template <class... P, size_t... I>
  static unsigned long computed(size_t (*bytes)(dim3, dim3, size_t, cudaStream_t, P...), const Launch& launch,
                                Buffer* buffers, std::index_sequence<I...>) {
    return bytes(launch.grid, launch.block, launch.shared, 0, Take<P>::from(buffers[I])...);
  }

  template <class... P>
  static unsigned long slots(void (*counting)(dim3, dim3, size_t, cudaStream_t, P...), const Launch& launch,
                             Buffer* buffers) {
    Buffer* given = static_cast<Buffer*>(malloc(sizeof...(P) * sizeof(Buffer)));
    for (unsigned p = 0; p + 1 < sizeof...(P); p++) given[p] = buffers[p];
    unsigned* counter = nullptr;
    unsigned slots = 0;
    cudaMalloc(&counter, sizeof(unsigned));
    cudaMemset(counter, 0, sizeof(unsigned));
    given[sizeof...(P) - 1].data = reinterpret_cast<unsigned char*>(counter);
    run_printed(counting, launch, given, std::index_sequence_for<P...>());
    cudaMemcpy(&slots, counter, sizeof(unsigned), cudaMemcpyDeviceToHost);
    cudaFree(counter);
    free(given);
    return slots;
  }
};

// The two functions of the split form. Between them everything is spoilt that the second does not list as needed, and the
// second must leave all memory of the primal function as it finds it.
template <class... A, class... R>
void split(void (*augmented)(dim3, dim3, size_t, cudaStream_t, A...),
           void (*reverse)(dim3, dim3, size_t, cudaStream_t, R...), const bool* needed, unsigned parameters,
           const Launch& launch, const Launch& reverse_launch, Buffer* buffers) {
  Needed needed_slots;
  Buffer* first = static_cast<Buffer*>(malloc((parameters + 2) * sizeof(Buffer)));
  unsigned char** after = static_cast<unsigned char**>(malloc((parameters + 1) * sizeof(unsigned char*)));
  unsigned char** found = static_cast<unsigned char**>(malloc((parameters + 1) * sizeof(unsigned char*)));
  for (unsigned p = 0; p < parameters; p++) first[p] = buffers[p];
  if (sizeof...(A) > parameters) first[parameters] = buffers[sizeof...(R) - 1];
  first[parameters + 1] = needed_slots.buffer();
  run_printed(augmented, launch, first, std::index_sequence_for<A...>());
  cudaDeviceSynchronize();
  for (unsigned p = 0; p < parameters; p++) {
    unsigned long bytes = buffers[p].bytes;
    after[p] = static_cast<unsigned char*>(malloc(bytes + 1));
    found[p] = static_cast<unsigned char*>(malloc(bytes + 1));
    cudaMemcpy(after[p], buffers[p].data, bytes, cudaMemcpyDeviceToHost);
    if (!needed[p]) cudaMemset(buffers[p].data, 0xff, bytes);
    cudaMemcpy(found[p], buffers[p].data, bytes, cudaMemcpyDeviceToHost);
  }
  run_printed(reverse, reverse_launch, buffers, std::index_sequence_for<R...>());
  cudaDeviceSynchronize();
  for (unsigned p = 0; p < parameters; p++) {
    unsigned long bytes = buffers[p].bytes;
    unsigned char* now = static_cast<unsigned char*>(malloc(bytes + 1));
    cudaMemcpy(now, buffers[p].data, bytes, cudaMemcpyDeviceToHost);
    if (memcmp(now, found[p], bytes) != 0) {
      fprintf(stderr, "the reverse function changed the memory of parameter %u\n", p);
      exit(93);
    }
    cudaMemcpy(buffers[p].data, after[p], bytes, cudaMemcpyHostToDevice);
    free(now);
    free(found[p]);
    free(after[p]);
  }
  free(found);
  free(after);
  free(first);
}

// The same two of the host, which hand on a tape if the last parameter is one.
template <class R, class... A, class... P>
void split_host(R (*augmented)(A...), void (*reverse)(P...), const bool* needed, Buffer* buffers) {
  using Last = std::tuple_element_t<sizeof...(P) - 1, std::tuple<P...>>;
  constexpr bool has_tape = std::is_lvalue_reference<Last>::value;
  constexpr size_t own = sizeof...(A) - has_tape, first_buffers = buffers_of<A...>(own);
  constexpr size_t second_buffers = buffers_of<P...>(sizeof...(P) - has_tape);
  std::conditional_t<has_tape, std::remove_reference_t<Last>, int> tape;
  const Buffer of_tape{reinterpret_cast<unsigned char*>(&tape), nullptr, 0};
  const Allocations allocations;
  Buffer* first = static_cast<Buffer*>(malloc((first_buffers + 2) * sizeof(Buffer)));
  Buffer* second = static_cast<Buffer*>(malloc((second_buffers + 1) * sizeof(Buffer)));
  unsigned char** after = static_cast<unsigned char**>(malloc((first_buffers + 1) * sizeof(unsigned char*)));
  for (size_t b = 0; b < first_buffers; b++) first[b] = buffers[b];
  for (size_t b = 0; b < second_buffers; b++) second[b] = buffers[b];
  first[first_buffers] = second[second_buffers] = of_tape;
  // A result lies after all that the derivative takes.
  if constexpr (!std::is_void<R>::value) first[first_buffers + has_tape] = buffers[second_buffers];
  run_host(augmented, first, std::index_sequence_for<A...>());
  cudaDeviceSynchronize();
  for (size_t argument = 0; argument < own; argument++) {
    for (size_t b = buffers_of<A...>(argument); b < buffers_of<A...>(argument + 1); b++) {
      after[b] = static_cast<unsigned char*>(malloc(buffers[b].bytes + 1));
      memcpy(after[b], buffers[b].data, buffers[b].bytes);
      if (!needed[argument]) memset(buffers[b].data, 0xff, buffers[b].bytes);
    }
  }
  run_host(reverse, second, std::index_sequence_for<P...>());
  cudaDeviceSynchronize();
  for (size_t argument = 0; argument < own; argument++) {
    for (size_t b = buffers_of<A...>(argument); b < buffers_of<A...>(argument + 1); b++) {
      bool is_same = needed[argument] ? memcmp(buffers[b].data, after[b], buffers[b].bytes) == 0 : true;
      for (unsigned long at = 0; at < buffers[b].bytes && !needed[argument]; at++) is_same &= buffers[b].data[at] == 0xff;
      if (!is_same) {
        fprintf(stderr, "the reverse function changed the memory of parameter %zu\n", argument);
        exit(93);
      }
      memcpy(buffers[b].data, after[b], buffers[b].bytes);
      free(after[b]);
    }
  }
  free(after);
  free(second);
  free(first);
  allocations.check(buffers, second_buffers);
}

// An array by its name, whose numbers are of type T, or `void` for several types.
template <class T>
struct Named {
  Buffer& buffer;
};

template <class T, class U>
constexpr bool holds() {
  if constexpr (std::is_void<T>::value || std::is_void<U>::value) return true;
  else if constexpr (std::is_arithmetic<T>::value && std::is_arithmetic<U>::value)
    return sizeof(T) == sizeof(U) && std::is_floating_point<T>::value == std::is_floating_point<U>::value;
  else return std::is_same<T, U>::value || (std::is_class<U>::value && sizeof(U) >= sizeof(T));
}

// What a function of the user's takes for an argument that is named, or written as C++.
template <class P>
struct Given {
  template <class T>
  COTANGENT_UNCHECKED static P from(Named<T> named) {
    using Element = std::remove_cv_t<std::remove_pointer_t<std::remove_reference_t<P>>>;
    static_assert(holds<T, Element>(), "an array of --against-args holds other numbers than the function takes");
    return Take<P>::from(named.buffer);
  }
  template <class V>
  COTANGENT_UNCHECKED static P from(V value) {
    return static_cast<P>(value);
  }
};

// The functions that gradients are compared with; what they return is dropped.
template <class... P, class... A>
void other_kernel(void (*function)(P...), const Launch& launch, A... arguments) {
  ::cotangent::launch(function, launch.grid, launch.block, launch.shared)(Given<P>::from(arguments)...);
}

template <class R, class... P, class... A>
void other_host(R (*function)(P...), const Launch&, A... arguments) {
  function(Given<P>::from(arguments)...);
}

template <class R, class... P>
struct OtherCall {
  R (*function)(P...);
  std::tuple<P...> arguments;

  template <size_t... I>
  COTANGENT_UNCHECKED void call(std::index_sequence<I...>) const {
    function(static_cast<P>(std::get<I>(arguments))...);
  }

  COTANGENT_UNCHECKED void operator()() const { call(std::index_sequence_for<P...>()); }
};

template <class R, class... P, class... A>
void other_device(R (*function)(P...), const Launch&, A... arguments) {
  ::cotangent::launch(OtherCall<R, P...>{function, {Given<P>::from(arguments)...}}, dim3(1), dim3(1))();
}

// A variable of the device, the user's or a derivative's own, which holds what a buffer holds while a call runs; the
// buffer then holds what the call left.
template <class T>
struct Held {
  T& variable;
  Buffer& buffer;

  Held(T& variable, Buffer& buffer) : variable(variable), buffer(buffer) {
    if (buffer.bytes != sizeof(T)) exit(97);
    cudaMemcpyToSymbol(variable, buffer.host, sizeof(T));
  }

  ~Held() {
    cudaDeviceSynchronize();
    cudaMemcpyFromSymbol(buffer.data, variable, sizeof(T), 0, cudaMemcpyDeviceToDevice);
  }
};

// `variables` are the buffers of the variables that are varied.
void evaluate(unsigned variant, const Launch& launch, Buffer* buffers, Buffer* variables);

template <class T>
T read(FILE* file) {
  T value;
  if (fread(&value, sizeof(T), 1, file) != 1) exit(90);
  return value;
}

inline int run(const char* input, const char* output) {
  FILE* in = fopen(input, "rb");
  FILE* out = fopen(output, "wb");
  if (!in || !out) return 91;
  unsigned evaluations = read<unsigned>(in);
  for (unsigned e = 0; e < evaluations; e++) {
    unsigned variant = read<unsigned>(in);
    Launch launch;
    launch.grid = dim3(read<unsigned>(in), 1, 1);
    launch.grid.y = read<unsigned>(in);
    launch.grid.z = read<unsigned>(in);
    launch.block = dim3(read<unsigned>(in), 1, 1);
    launch.block.y = read<unsigned>(in);
    launch.block.z = read<unsigned>(in);
    launch.shared = read<unsigned long>(in);
    unsigned count = read<unsigned>(in);
    Buffer* buffers = static_cast<Buffer*>(malloc((count + 1) * sizeof(Buffer)));
    for (unsigned b = 0; b < count; b++) {
      buffers[b].bytes = read<unsigned long>(in);
      void* data = nullptr;
      cudaMallocManaged(&data, buffers[b].bytes);
      buffers[b].data = static_cast<unsigned char*>(data);
      buffers[b].host = static_cast<unsigned char*>(aligned_alloc(64, (buffers[b].bytes / 64 + 1) * 64));
      if (fread(buffers[b].host, 1, buffers[b].bytes, in) != buffers[b].bytes) return 92;
    }
    unsigned patches = read<unsigned>(in);
    for (unsigned p = 0; p < patches; p++) {
      unsigned where = read<unsigned>(in);
      unsigned long offset = read<unsigned long>(in);
      unsigned target = read<unsigned>(in);
      memcpy(buffers[where].host + offset, &buffers[target].data, sizeof(void*));
    }
    for (unsigned b = 0; b < count; b++) {
      cudaMemcpy(buffers[b].data, buffers[b].host, buffers[b].bytes, cudaMemcpyHostToDevice);
    }
    unsigned arguments = read<unsigned>(in);
    Buffer* given = static_cast<Buffer*>(malloc((arguments + 1) * sizeof(Buffer)));
    for (unsigned a = 0; a < arguments; a++) given[a] = buffers[read<unsigned>(in)];
    unsigned held = read<unsigned>(in);
    Buffer* variables = static_cast<Buffer*>(malloc((held + 1) * sizeof(Buffer)));
    for (unsigned v = 0; v < held; v++) variables[v] = buffers[read<unsigned>(in)];
    // As in a process of its own: a program that asks C for numbers without a seed gets the same each time.
    srand(1);
    evaluate(variant, launch, given, variables);
    int error = static_cast<int>(cudaDeviceSynchronize());
    if (error == 0) error = static_cast<int>(cudaGetLastError());
    fwrite(&error, sizeof(error), 1, out);
    for (unsigned b = 0; b < count; b++) {
      // What the program has freed is as it was: nobody can look.
      const bool is_there = is_allocated(buffers[b].data);
      if (is_there) cudaMemcpy(buffers[b].host, buffers[b].data, buffers[b].bytes, cudaMemcpyDeviceToHost);
      fwrite(buffers[b].host, 1, buffers[b].bytes, out);
      if (is_there) cudaFree(buffers[b].data);
      free(buffers[b].host);
    }
    free(variables);
    free(given);
    free(buffers);
  }
  fclose(in);
  return fclose(out);
}

}  // namespace cotangent_check

__attribute__((visibility("default"))) int main(int, char** words) {
  // A derivative may be wrong in that it never ends.
  if (const char* seconds = getenv("COTANGENT_CHECK_SECONDS")) alarm(static_cast<unsigned>(atoi(seconds)));
  return cotangent_check::run(words[1], words[2]);
}
