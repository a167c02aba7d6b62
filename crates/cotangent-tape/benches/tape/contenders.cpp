// What C++ programs would use: each function pushes `count` doubles and pops them again. Values are opaque to the
// compiler, as if other code had computed them, so that no loop becomes another one.
#include <cotangent/tape.hpp>

#include <cstdlib>
#include <vector>

namespace tape = cotangent::tape;

namespace {

inline double opaque(double value) {
#if defined(__x86_64__)
  asm volatile("" : "+x"(value));
#else
  asm volatile("" : "+w"(value));
#endif
  return value;
}

struct Four {
  double a, b, c, d;
};

inline Four opaque(Four value) { return {opaque(value.a), opaque(value.b), opaque(value.c), opaque(value.d)}; }

constexpr std::size_t kPiece = 512;
double piece[kPiece];

template <class T>
void through_cursor(cotangent_lane* lane, std::size_t count) {
  tape::Cursor cursor(lane);
  const T value{};
  for (std::size_t i = 0; i < count; ++i) cursor.push(opaque(value));
  for (std::size_t i = 0; i < count; ++i) opaque(cursor.pop<T>());
}

template <class T>
void through_array(void* memory, std::size_t count) {
  T* values = static_cast<T*>(memory);
  const T value{};
  for (std::size_t i = 0; i < count; ++i) values[i] = opaque(value);
  for (std::size_t i = count; i-- > 0;) opaque(values[i]);
}

std::vector<double> kept;

}  // namespace

extern "C" {

void* open_lane(const char* folder) {
  tape::Tape shared({0, std::size_t(folder ? 2 : 0) << 30, folder});
  return cotangent_lane_open(shared.get());
}
void close_lane(void* lane) { cotangent_lane_close(static_cast<cotangent_lane*>(lane)); }
unsigned status(void* lane) { return cotangent_lane_status(static_cast<cotangent_lane*>(lane)); }

void raw_loop(void* memory, std::size_t count) { through_array<double>(memory, count); }
void raw_loop_of_records(void* memory, std::size_t count) { through_array<Four>(memory, count / 4); }
void copies(void* memory, std::size_t count) {
  double* values = static_cast<double*>(memory);
  for (std::size_t i = 0; i + kPiece <= count; i += kPiece) std::memcpy(values + i, piece, sizeof(piece));
  for (std::size_t i = count; i >= kPiece; i -= kPiece) std::memcpy(piece, values + i - kPiece, sizeof(piece));
}
void cursor(void* lane, std::size_t count) { through_cursor<double>(static_cast<cotangent_lane*>(lane), count); }
void cursor_of_records(void* lane, std::size_t count) { through_cursor<Four>(static_cast<cotangent_lane*>(lane), count / 4); }
void cursor_of_arrays(void* lane, std::size_t count) {
  tape::Cursor cursor(static_cast<cotangent_lane*>(lane));
  for (std::size_t i = 0; i + kPiece <= count; i += kPiece) cursor.push(piece, kPiece);
  for (std::size_t i = 0; i + kPiece <= count; i += kPiece) cursor.pop(piece, kPiece);
}
void lane_in_c(void* lane, std::size_t count) {
  cotangent_lane* const c = static_cast<cotangent_lane*>(lane);
  double value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = opaque(value);
    COTANGENT_TAPE_PUSH(c, value);
  }
  for (std::size_t i = 0; i < count; ++i) {
    COTANGENT_TAPE_POP(c, value);
    opaque(value);
  }
}
void vector_reserved(void*, std::size_t count) {
  kept.reserve(count);
  for (std::size_t i = 0; i < count; ++i) kept.push_back(opaque(0.0));
  for (std::size_t i = 0; i < count; ++i) {
    opaque(kept.back());
    kept.pop_back();
  }
}
void vector_growing(void*, std::size_t count) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(opaque(0.0));
  for (std::size_t i = 0; i < count; ++i) {
    opaque(values.back());
    values.pop_back();
  }
}
void lane_growing(void*, std::size_t count) {
  tape::Tape shared;
  tape::Lane lane(shared);
  through_cursor<double>(lane.get(), count);
}
}
