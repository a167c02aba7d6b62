// The tape library, for C++17: stores what a reverse sweep will want back, last in first out. docs/tape.md is the manual.
//
//   cotangent::tape::Tape tape;
//   cotangent::tape::Lane lane(tape);                       one a thread
//   {
//     cotangent::tape::Cursor cursor(lane);                 keeps its place in registers while it lives
//     for (...) cursor.push(x);                             numbers, records, anything trivially copyable
//     for (...) x = cursor.pop<double>();                   in reverse
//   }
//   lane.check();                                           throws the first error, once a region
//
// `Stack<T>` is the same behind emplace_back, back and pop_back, for code that was generated against such a tape.
#pragma once

#include <cotangent/tape.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace cotangent {
namespace tape {

struct Error : std::runtime_error {
  explicit Error(std::uint32_t status) : std::runtime_error(cotangent_tape_message(status)), status(status) {}
  Error(std::uint32_t status, const std::string& reason)
      : std::runtime_error(cotangent_tape_message(status) + (": " + reason)), status(status) {}
  std::uint32_t status;
};

// Calls the callbacks of the options. What they throw cannot pass the library: `Lane::check` throws it.
class Watcher {
 public:
  explicit Watcher(const cotangent_tape_options& options)
      : progress_(options.progress), full_(options.full), context_(options.context) {}

  static void tell(void* watcher, const cotangent_tape_progress* progress) noexcept {
    static_cast<Watcher*>(watcher)->tell(progress);
  }
  // What throws gives no room.
  static int ask(void* watcher, const char* folder) noexcept {
    Watcher* self = static_cast<Watcher*>(watcher);
    try {
      return self->full_(self->context_, folder);
    } catch (...) {
      self->keep();
      return 0;
    }
  }
  // The first exception, once.
  void rethrow() {
    std::exception_ptr thrown;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      std::swap(thrown, thrown_);
    }
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  void tell(const cotangent_tape_progress* progress) noexcept {
    try {
      progress_(context_, progress);
    } catch (...) {
      keep();
    }
  }
  void keep() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!thrown_) thrown_ = std::current_exception();
  }

  void (*progress_)(void* context, const cotangent_tape_progress* progress);
  int (*full_)(void* context, const char* folder);
  void* context_;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

// What the system said, after the folder that it is about.
inline std::string reason_of(const char* folder, int number) {
  return (folder != nullptr ? std::string(folder) + ": " : std::string()) + std::generic_category().message(number);
}

// A budget of memory that lanes share.
class Tape {
 public:
  explicit Tape(cotangent_tape_options options = {}) {
    if (options.progress != nullptr || options.full != nullptr) {
      watcher_ = std::make_shared<Watcher>(options);
      if (options.progress != nullptr) options.progress = Watcher::tell;
      if (options.full != nullptr) options.full = Watcher::ask;
      options.context = watcher_.get();
    }
    const std::uint32_t status = cotangent_tape_open(&options, &tape_);
    const int number = errno;
    if (status == COTANGENT_TAPE_DISK || status == COTANGENT_TAPE_DISK_FULL) {
      throw Error(status, reason_of(folders(options).c_str(), number));
    }
    if (status != COTANGENT_TAPE_OK) throw Error(status);
  }
  // So much memory, and this folder for what does not fit.
  Tape(std::size_t budget_bytes, const char* spill) : Tape(options(budget_bytes, spill)) {}
  ~Tape() { cotangent_tape_close(tape_); }
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  cotangent_tape* get() const { return tape_; }
  const std::shared_ptr<Watcher>& watcher() const { return watcher_; }
  std::size_t peak_bytes() const { return cotangent_tape_peak_bytes(tape_); }

 private:
  // For messages: the one that it is about is among them.
  static std::string folders(const cotangent_tape_options& options) {
    std::string folders = options.spill != nullptr ? options.spill : "";
    for (const char* const* more = options.spill_more; more != nullptr && *more != nullptr; ++more) {
      folders += std::string(", ") + *more;
    }
    return folders;
  }
  static cotangent_tape_options options(std::size_t budget_bytes, const char* spill) {
    cotangent_tape_options options = {};
    options.budget_bytes = budget_bytes;
    options.spill = spill;
    return options;
  }

  cotangent_tape* tape_ = nullptr;
  // Lanes may outlive the tape, and still tell.
  std::shared_ptr<Watcher> watcher_;
};

// One thread's stack. While a Cursor of it lives, use that.
class Lane {
 public:
  explicit Lane(Tape& tape) : lane_(cotangent_lane_open(tape.get())), watcher_(tape.watcher()) {
    if (lane_ == nullptr) throw std::bad_alloc();
  }
  ~Lane() { cotangent_lane_close(lane_); }
  Lane(Lane&& other) noexcept : lane_(std::exchange(other.lane_, nullptr)), watcher_(other.watcher_) {}
  Lane& operator=(Lane&& other) noexcept {
    std::swap(lane_, other.lane_);
    std::swap(watcher_, other.watcher_);
    return *this;
  }

  cotangent_lane* get() const { return lane_; }
  std::uint32_t status() const { return cotangent_lane_status(lane_); }
  void check() const {
    if (watcher_) watcher_->rethrow();
    const int number = cotangent_lane_errno(lane_);
    if (number != 0) throw Error(status(), reason_of(cotangent_lane_folder(lane_), number));
    if (status() != COTANGENT_TAPE_OK) throw Error(status());
  }
  std::uint64_t position() const { return cotangent_lane_position(lane_); }
  cotangent_tape_stats stats() const { return cotangent_lane_stats(lane_); }
  void clear() { cotangent_lane_clear(lane_); }

 private:
  cotangent_lane* lane_;
  std::shared_ptr<Watcher> watcher_;
};

// Its address stands for a type.
template <class T>
inline constexpr char kind_of = 0;

// A lane's place, in registers: no address of it is ever taken. The lane has it back when the cursor is destroyed. A second one
// at the same time is an error: a function that is called takes the cursor of its caller.
class Cursor {
 public:
  explicit Cursor(Lane& lane) : Cursor(lane.get()) {}
  explicit Cursor(cotangent_lane* lane) : lane_(lane) {
    if (lane_->cursors++ != 0) cotangent_lane_second_cursor(lane_);
    load();
  }
  ~Cursor() {
    store();
    --lane_->cursors;
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  template <class T>
  void push(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "this type is more than its bytes: use push_object");
    // The sum is the next place, and costs nothing.
    if (COTANGENT_TAPE_LIKELY(number(cur_) + sizeof(T) <= number(hi_))) {
      std::memcpy(cur_, &value, sizeof(T));
      cur_ += sizeof(T);
    } else {
      const T copy = value;
      push_slow(&copy, sizeof(T));
    }
  }

  template <class T>
  T pop() {
    static_assert(std::is_trivially_copyable_v<T>, "this type is more than its bytes: use pop_object");
    // Bytes, because a T may have no default constructor.
    alignas(T) unsigned char bytes[sizeof(T)];
    // The sum does not change in a loop.
    if (COTANGENT_TAPE_LIKELY(number(lo_) + sizeof(T) <= number(cur_))) {
      cur_ -= sizeof(T);
      std::memcpy(bytes, cur_, sizeof(T));
      return *std::launder(reinterpret_cast<T*>(bytes));
    }
    alignas(T) unsigned char others[sizeof(T)];
    pop_slow(others, sizeof(T));
    return *std::launder(reinterpret_cast<T*>(others));
  }

  // An array; its length is not kept.
  template <class T>
  void push(const T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>, "this type is more than its bytes: use push_object");
    const std::size_t bytes = all_bytes(count, sizeof(T));
    if (COTANGENT_TAPE_LIKELY(bytes <= PTRDIFF_MAX && hi_ - cur_ >= static_cast<std::ptrdiff_t>(bytes))) {
      if (bytes != 0) std::memcpy(cur_, values, bytes);
      cur_ += bytes;
    } else {
      push_slow(values, bytes);
    }
  }

  // As many values, in the order in which they were pushed.
  template <class T>
  void pop(T* values, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>, "this type is more than its bytes: use pop_object");
    const std::size_t bytes = all_bytes(count, sizeof(T));
    if (COTANGENT_TAPE_LIKELY(bytes <= PTRDIFF_MAX && cur_ - lo_ >= static_cast<std::ptrdiff_t>(bytes))) {
      cur_ -= bytes;
      if (bytes != 0) std::memcpy(static_cast<void*>(values), cur_, bytes);
    } else {
      pop_slow(values, bytes);
    }
  }

  // Any movable object, in the side lane.
  template <class T>
  void push_object(T value) {
    cotangent_lane_push_object(lane_, new T(std::move(value)), &kind_of<T>,
                               [](void* object) { delete static_cast<T*>(object); });
  }

  template <class T>
  T pop_object() {
    T* object = static_cast<T*>(cotangent_lane_pop_object(lane_, &kind_of<T>));
    if (object == nullptr) throw Error(COTANGENT_TAPE_OBJECT);
    T value(std::move(*object));
    delete object;
    return value;
  }

  template <class T>
  T& top_object() {
    T* object = static_cast<T*>(cotangent_lane_top_object(lane_, &kind_of<T>));
    if (object == nullptr) throw Error(COTANGENT_TAPE_OBJECT);
    return *object;
  }

  cotangent_mark mark() {
    store();
    const cotangent_mark mark = cotangent_lane_mark(lane_);
    load();
    return mark;
  }
  void rewind(cotangent_mark mark) {
    store();
    cotangent_lane_rewind(lane_, mark);
    load();
  }
  void hold() {
    store();
    cotangent_lane_hold(lane_);
    load();
  }
  void seek(cotangent_mark mark) {
    store();
    cotangent_lane_seek(lane_, mark);
    load();
  }
  void release() {
    store();
    cotangent_lane_release(lane_);
    load();
  }

 private:
  // A product that does not fit is a size that no memory has.
  static std::size_t all_bytes(std::size_t count, std::size_t each) {
    return count <= PTRDIFF_MAX / each ? count * each : SIZE_MAX;
  }
  static std::uintptr_t number(const unsigned char* place) { return reinterpret_cast<std::uintptr_t>(place); }

  // After an error of the lane there is nowhere to go on.
  void store() {
    if (lane_->cursor.lo != nullptr) lane_->cursor.cur = cur_;
  }
  void load() {
    cur_ = lane_->cursor.cur;
    lo_ = lane_->cursor.lo;
    hi_ = lane_->cursor.hi;
  }
  void push_slow(const void* from, std::size_t bytes) {
    store();
    cotangent_lane_push(lane_, from, bytes);
    load();
  }
  void pop_slow(void* to, std::size_t bytes) {
    store();
    cotangent_lane_pop(lane_, to, bytes);
    load();
  }

  cotangent_lane* lane_;
  unsigned char* cur_;
  unsigned char* lo_;
  unsigned char* hi_;
};

// A stack of one type on a lane of its own, with the members that generated code expects of a tape. The last value is
// kept here, so that back() is a reference to a T with its alignment wherever the lane has put the others.
template <class T>
class Stack {
  static_assert(std::is_trivially_copyable_v<T>, "Stack keeps bytes; use Cursor::push_object for other types");

 public:
  explicit Stack(Tape& tape) : lane_(tape), cursor_(lane_) {}

  template <class... Arguments>
  void emplace_back(Arguments&&... arguments) {
    if (size_ != 0) cursor_.push(last_.value);
    ::new (static_cast<void*>(&last_.value)) T(std::forward<Arguments>(arguments)...);
    ++size_;
  }
  T& back() { return last_.value; }
  const T& back() const { return last_.value; }
  void pop_back() {
    if (size_ == 0) throw Error(COTANGENT_TAPE_EMPTY);
    if (--size_ != 0) ::new (static_cast<void*>(&last_.value)) T(cursor_.template pop<T>());
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void check() const { lane_.check(); }

 private:
  union Last {
    char nothing;
    T value;
    Last() : nothing() {}
  };

  Lane lane_;
  Cursor cursor_;
  Last last_;
  std::size_t size_ = 0;
};

}  // namespace tape
}  // namespace cotangent
