// The stack on which a derivative of host code keeps values between its sweeps. `cotangent/runtime.hpp` includes it; there
// COTANGENT_FAIL is defined. With COTANGENT_TAPE_LIBRARY it is a lane of the tape library (`cotangent/records.hpp`).
#pragma once

#ifdef COTANGENT_TAPE_LIBRARY
#include <cotangent/records.hpp>

#include <exception>
#endif

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

namespace cotangent {

// Arrays that live as long as the tape: the values of a loop whose length is known when it begins.
struct KeptArrays {
  template <class T>
  T* reserve(long count) {
    static_assert(std::is_trivially_copyable<T>::value, "a record is its bytes");
    all.emplace_back(new unsigned char[static_cast<std::size_t>(count) * sizeof(T)]);
    return reinterpret_cast<T*>(all.back().get());
  }
  std::vector<std::unique_ptr<unsigned char[]>> all;
};

#ifdef COTANGENT_TAPE_LIBRARY

// Another class than in files that do without the library.
inline namespace with_library {

class Tape {
 public:
  Tape() : lane_(*tape_of_records()), cursor_(lane_) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  // After an error, a full disk for example, values are zero. Nobody may use what was computed with them.
  ~Tape() noexcept(false) {
    const std::uint32_t status = lane_.status();
    if (status != COTANGENT_TAPE_OK && std::uncaught_exceptions() == 0) {
      COTANGENT_FAIL(std::string("the record of a derivative: ") + cotangent_tape_message(status));
    }
  }

  template <class T>
  void push(const T& value) {
    cursor_.push(value);
  }
  template <class T>
  T pop() {
    return cursor_.pop<T>();
  }
  // In memory.
  template <class T>
  T* reserve(long count) {
    return arrays_.reserve<T>(count);
  }

 private:
  tape::Lane lane_;
  tape::Cursor cursor_;
  KeptArrays arrays_;
};

}  // namespace with_library

#else
#define COTANGENT_OWN_TAPE

// What the forward sweep of a host function leaves for its reverse sweep, last in first out, in slabs of memory.
class Tape {
 public:
  Tape() = default;
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape() { delete slabs_; }

  template <class T>
  void push(const T& value) {
    static_assert(sizeof(T) <= kSmallest, "one value is larger than a slab");
    if (static_cast<std::size_t>(at_.end - at_.next) < sizeof(T)) at_ = next_slab(slabs_, at_.next);
    std::memcpy(at_.next, &value, sizeof(T));
    at_.next += sizeof(T);
  }
  template <class T>
  T pop() {
    if (at_.next == at_.begin) at_ = last_slab(slabs_);
    at_.next -= sizeof(T);
    T value;
    std::memcpy(&value, at_.next, sizeof(T));
    return value;
  }
  template <class T>
  T* reserve(long count) {
    return slabs_->arrays.reserve<T>(count);
  }

 private:
  // A value lies in one slab. Of a slab that is left it is kept where its last value ends.
  struct Slab {
    std::unique_ptr<unsigned char[]> bytes;
    std::size_t size;
    unsigned char* filled;
  };
  struct Slabs {
    std::vector<Slab> all;
    KeptArrays arrays;
    std::size_t used = 0;
  };
  struct Place {
    unsigned char* next = nullptr;
    unsigned char* begin = nullptr;
    unsigned char* end = nullptr;
  };

  static constexpr std::size_t kSmallest = std::size_t{1} << 16, kLargest = std::size_t{1} << 26;

  // These take no address of the place, so that it stays in registers.
  static Place next_slab(Slabs* slabs, unsigned char* filled) {
    if (slabs->used > 0) slabs->all[slabs->used - 1].filled = filled;
    if (slabs->used == slabs->all.size()) {
      const std::size_t size = slabs->used == 0 ? kSmallest : std::min(kLargest, slabs->all.back().size * 2);
      slabs->all.push_back({std::unique_ptr<unsigned char[]>(new unsigned char[size]), size, nullptr});
    }
    Slab& slab = slabs->all[slabs->used++];
    return {slab.bytes.get(), slab.bytes.get(), slab.bytes.get() + slab.size};
  }
  static Place last_slab(Slabs* slabs) {
    --slabs->used;
    Slab& slab = slabs->all[slabs->used - 1];
    return {slab.filled, slab.bytes.get(), slab.bytes.get() + slab.size};
  }

  Slabs* slabs_ = new Slabs;
  Place at_;
};

#endif

template <class T>
void push(Tape& tape, T value) {
  tape.push(value);
}
template <class T>
T pop(Tape& tape) {
  return tape.pop<T>();
}
template <class T>
T* reserve(Tape& tape, long count) {
  return tape.reserve<T>(count);
}

}  // namespace cotangent
