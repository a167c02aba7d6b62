// Whether a step of a loop that is run again begins with the same bits as the first time: a sum over them for each step, which
// is made and compared where they are, so that the host waits for nothing until the end.
#pragma once

#include <cotangent/runtime.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace cotangent {

// A part of a state: an array, or a variable of the host.
struct StatePart {
  unsigned char* where;
  std::size_t bytes;
  bool on_host;
  // A variable of the host.
  bool is_value;
};

// What a word adds to the sum: other bits, or other places, give another sum.
__host__ __device__ inline unsigned long long mixed(unsigned long long word, unsigned long long place) {
  unsigned long long bits = word ^ ((place + 1) * 0x9E3779B97F4A7C15ull);
  bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93ull;
  bits = (bits ^ (bits >> 32)) * 0xD6E8FEB86659FD93ull;
  return bits ^ (bits >> 32);
}

template <class Word>
__global__ void add_up(const Word* words, std::size_t count, std::size_t place, unsigned long long* sum) {
  unsigned long long own = 0;
  const std::size_t threads = gridDim.x * static_cast<std::size_t>(blockDim.x);
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += threads) {
    own += mixed(words[i], place + i);
  }
  atomicAdd(sum, own);
}

// The first step whose sums differ.
template <class Sum>
__global__ void compare_sums(const Sum* then, const Sum* now, Sum step, Sum* first) {
  if (*then != *now) atomicMin(first, step);
}

class StateSums {
 public:
  StateSums() = default;
  StateSums(const StateSums&) = delete;
  StateSums& operator=(const StateSums&) = delete;
  // In a destructor, which must not throw.
  ~StateSums() {
    for (Sum* block : blocks_) (void)cudaFreeAsync(block, nullptr);
    (void)cudaFreeAsync(now_, nullptr);
  }

  // The step is run for the first time.
  void keep(std::size_t step, const std::vector<StatePart>& parts) {
    if (step / kBlock == blocks_.size()) blocks_.push_back(stream_zeros<Sum>(kBlock * sizeof(Sum), nullptr));
    add(parts, &blocks_[step / kBlock][step % kBlock]);
    on_host_.resize(step + 1);
    on_host_[step] = of_host(parts);
  }
  // It is run again.
  void compare(std::size_t step, const std::vector<StatePart>& parts) {
    if (now_ == nullptr) {
      now_ = stream_memory<Sum>(2 * sizeof(Sum), nullptr);
      COTANGENT_CHECK(cudaMemsetAsync(now_ + 1, 0xFF, sizeof(Sum), nullptr));
    }
    COTANGENT_CHECK(cudaMemsetAsync(now_, 0, sizeof(Sum), nullptr));
    add(parts, now_);
#ifdef COTANGENT_CPU
    ::cotangent::launch(compare_sums<Sum>, dim3(1), dim3(1), 0, nullptr)(&blocks_[step / kBlock][step % kBlock], now_, Sum(step), now_ + 1);
#else
    compare_sums<Sum><<<1, 1, 0, nullptr>>>(&blocks_[step / kBlock][step % kBlock], now_, Sum(step), now_ + 1);
#endif
    COTANGENT_CHECK(cudaGetLastError());
    if (on_host_[step] != of_host(parts)) differs(step);
  }
  // Of all that these are now. The host waits.
  static unsigned long long of(const std::vector<StatePart>& parts) {
    Sum sum = 0;
    Sum* const on_device = stream_zeros<Sum>(sizeof(Sum), nullptr);
    add(parts, on_device);
    fetch(&sum, on_device, nullptr);
    release(on_device, nullptr);
    return sum + of_host(parts);
  }
  // Throws if any step differed. The host waits.
  void check() const {
    if (now_ == nullptr) return;
    Sum first = 0;
    COTANGENT_CHECK(cudaMemcpyAsync(&first, now_ + 1, sizeof(Sum), cudaMemcpyDeviceToHost, nullptr));
    COTANGENT_CHECK(cudaStreamSynchronize(nullptr));
    if (first != ~Sum{0}) differs(first);
  }

 private:
  using Sum = unsigned long long;
  static constexpr std::size_t kBlock = 4096;

  static void add(const std::vector<StatePart>& parts, Sum* sum) {
    std::size_t place = 0;
    for (const StatePart& part : parts) {
      if (part.on_host) continue;
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(part.where) % sizeof(unsigned) == 0;
      const std::size_t words = is_aligned ? part.bytes / sizeof(unsigned) : 0;
      const std::size_t rest = part.bytes - words * sizeof(unsigned);
      launch_add_up(reinterpret_cast<const unsigned*>(part.where), words, place, sum);
      launch_add_up(part.where + words * sizeof(unsigned), rest, place + words, sum);
      place += words + rest;
    }
  }
  template <class Word>
  static void launch_add_up(const Word* words, std::size_t count, std::size_t place, Sum* sum) {
    constexpr std::size_t threads = 256;
    if (count == 0) return;
    const dim3 blocks(static_cast<unsigned int>(std::min<std::size_t>((count + threads - 1) / threads, 1024)));
#ifdef COTANGENT_CPU
    ::cotangent::launch(add_up<Word>, blocks, dim3(threads), 0, nullptr)(words, count, place, sum);
#else
    add_up<Word><<<blocks, threads, 0, nullptr>>>(words, count, place, sum);
#endif
    COTANGENT_CHECK(cudaGetLastError());
  }
  static Sum of_host(const std::vector<StatePart>& parts) {
    Sum sum = 0;
    Sum place = 0;
    for (const StatePart& part : parts) {
      for (std::size_t i = 0; part.on_host && i < part.bytes; ++i) sum += mixed(part.where[i], place++);
    }
    return sum;
  }
  static void differs(std::size_t step) {
    COTANGENT_FAIL("checkpoints: step " + std::to_string(step) +
                   " of a loop begins with another state when it is run again: its kernels give other bits each time, or it "
                   "changes memory that its derivative does not know of, or a COTANGENT_CHECKPOINT states too few elements");
  }

  // Of the steps, by blocks; of the step that is run again, and after it the first that differed.
  std::vector<Sum*> blocks_;
  Sum* now_ = nullptr;
  std::vector<Sum> on_host_;
};

}  // namespace cotangent
