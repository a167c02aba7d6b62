// Thrust's vectors of the device and of the host, for numbers: memory that is theirs, in words that derivatives can read. Their
// fields lie where those of NVIDIA's vectors do, so that a struct of them is the same to a derivative as to the program.
// Iterators are pointers.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "cotangent/thrust/algorithms.h"

namespace thrust {

template <class T>
T* raw_pointer_cast(T* pointer) {
  return pointer;
}

// One element of the device's memory, as the host sees it.
template <class T>
class device_reference {
  T* place_;

 public:
  explicit device_reference(T* place) : place_(place) {}
  operator T() const {
    T value;
    cudaMemcpy(&value, place_, sizeof(T), cudaMemcpyDeviceToHost);
    return value;
  }
  device_reference& operator=(const T& value) {
    cudaMemcpy(place_, &value, sizeof(T), cudaMemcpyHostToDevice);
    return *this;
  }
  device_reference& operator=(const device_reference& other) { return *this = static_cast<T>(other); }
};

template <class T>
class host_vector;

template <class T>
class device_vector {
  void* resource_ = nullptr;
  T* first_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;

  void make(std::size_t count) {
    if (count > 0) cudaMalloc(&first_, count * sizeof(T));
    capacity_ = count;
    size_ = count;
  }
  void copy(const T* from, std::size_t count) {
    if (count > 0) cudaMemcpy(first_, from, count * sizeof(T), cudaMemcpyDefault);
  }
  void set(std::size_t begin, const T& value) {
    std::vector<T> values(size_, value);
    if (size_ > begin) {
      cudaMemcpy(first_ + begin, values.data(), (size_ - begin) * sizeof(T), cudaMemcpyHostToDevice);
    }
  }

 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = T*;
  using const_iterator = const T*;

  device_vector() {}
  explicit device_vector(std::size_t count) {
    make(count);
    if (count > 0) cudaMemset(first_, 0, count * sizeof(T));
  }
  device_vector(std::size_t count, const T& value) {
    make(count);
    set(0, value);
  }
  device_vector(const device_vector& other) {
    make(other.size_);
    copy(other.first_, other.size_);
  }
  device_vector(const host_vector<T>& other) {
    make(other.size());
    copy(other.data(), other.size());
  }
  ~device_vector() { cudaFree(first_); }

  device_vector& operator=(const device_vector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  device_vector& operator=(const host_vector<T>& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  void assign(const T* first, const T* last) {
    const std::size_t count = last - first;
    if (count > capacity_) {
      cudaFree(first_);
      make(count);
    }
    size_ = count;
    copy(first, count);
  }
  void resize(std::size_t count, const T& value = T()) {
    const std::size_t kept = size_ < count ? size_ : count;
    if (count > capacity_) {
      T* old = first_;
      make(count);
      copy(old, kept);
      cudaFree(old);
    }
    size_ = count;
    set(kept, value);
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return first_; }
  const T* data() const { return first_; }
  T* begin() { return first_; }
  const T* begin() const { return first_; }
  T* end() { return first_ + size_; }
  const T* end() const { return first_ + size_; }
  device_reference<T> operator[](std::size_t index) { return device_reference<T>(first_ + index); }
  T operator[](std::size_t index) const { return device_reference<T>(const_cast<T*>(first_) + index); }
};

template <class T>
class host_vector {
  void* allocator_ = nullptr;
  T* first_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;

  void make(std::size_t count) {
    if (count > 0) first_ = new T[count]();
    capacity_ = count;
    size_ = count;
  }
  void copy(const T* from, std::size_t count) {
    if (count > 0) cudaMemcpy(first_, from, count * sizeof(T), cudaMemcpyDefault);
  }

 public:
  using value_type = T;
  using size_type = std::size_t;
  using iterator = T*;
  using const_iterator = const T*;

  host_vector() {}
  explicit host_vector(std::size_t count) { make(count); }
  host_vector(std::size_t count, const T& value) {
    make(count);
    for (std::size_t i = 0; i < count; ++i) first_[i] = value;
  }
  host_vector(const host_vector& other) {
    make(other.size_);
    copy(other.first_, other.size_);
  }
  host_vector(const device_vector<T>& other) {
    make(other.size());
    copy(other.data(), other.size());
  }
  ~host_vector() { delete[] first_; }

  host_vector& operator=(const host_vector& other) {
    if (this != &other) assign(other.begin(), other.end());
    return *this;
  }
  host_vector& operator=(const device_vector<T>& other) {
    assign(other.begin(), other.end());
    return *this;
  }
  void assign(const T* first, const T* last) {
    const std::size_t count = last - first;
    if (count > capacity_) {
      delete[] first_;
      make(count);
    }
    size_ = count;
    copy(first, count);
  }
  void resize(std::size_t count, const T& value = T()) {
    const std::size_t kept = size_ < count ? size_ : count;
    if (count > capacity_) {
      T* old = first_;
      make(count);
      copy(old, kept);
      delete[] old;
    }
    size_ = count;
    for (std::size_t i = kept; i < count; ++i) first_[i] = value;
  }
  void clear() { size_ = 0; }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  T* data() { return first_; }
  const T* data() const { return first_; }
  T* begin() { return first_; }
  const T* begin() const { return first_; }
  T* end() { return first_ + size_; }
  const T* end() const { return first_ + size_; }
  T& operator[](std::size_t index) { return first_[index]; }
  const T& operator[](std::size_t index) const { return first_[index]; }
};

}  // namespace thrust
