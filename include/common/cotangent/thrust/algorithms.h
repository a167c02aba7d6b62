// Some of Thrust's algorithms, as the host calls them for arrays of the device or its own: in words that derivatives can read
// where they compute, with one thread of the host.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace thrust {

// Where an algorithm runs. Copies find out where its arrays are.
struct device_policy {};
struct host_policy {};
struct sequential_policy {};
[[maybe_unused]] static const device_policy device = {};
[[maybe_unused]] static const host_policy host = {};
[[maybe_unused]] static const sequential_policy seq = {};

// The sum, beginning with a number whose type is the sum's.
template <class Policy, class Number, class Sum>
Sum reduce(const Policy&, Number* first, Number* last, Sum sum) {
  const std::size_t count = last - first;
  std::vector<Number> values(count);
  cudaMemcpy(values.data(), first, count * sizeof(Number), cudaMemcpyDefault);
  for (std::size_t i = 0; i < count; ++i) sum = sum + values[i];
  return sum;
}
template <class Policy, class Number>
Number reduce(const Policy& policy, Number* first, Number* last) {
  return reduce(policy, first, last, Number(0));
}

// How many elements are equal to a value.
template <class Policy, class Number, class Value>
std::ptrdiff_t count(const Policy&, Number* first, Number* last, const Value& value) {
  const std::size_t all = last - first;
  std::vector<Number> values(all);
  cudaMemcpy(values.data(), first, all * sizeof(Number), cudaMemcpyDefault);
  std::ptrdiff_t found = 0;
  for (std::size_t i = 0; i < all; ++i) found += values[i] == value ? 1 : 0;
  return found;
}

// An array on the host that goes back where it came from.
template <class Number>
struct brought {
  Number* from;
  std::vector<Number> values;

  brought(Number* first, std::size_t count) : from(first), values(count) {
    cudaMemcpy(values.data(), first, count * sizeof(Number), cudaMemcpyDefault);
  }
  ~brought() { cudaMemcpy(from, values.data(), values.size() * sizeof(Number), cudaMemcpyDefault); }

  // The elements in another order: first the one of that number, and so on.
  void arrange(const std::vector<std::size_t>& order) {
    std::vector<Number> old = values;
    for (std::size_t i = 0; i < order.size(); ++i) values[i] = old[order[i]];
  }
};

inline std::vector<std::size_t> numbered(std::size_t count) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  return order;
}

// Puts elements into ascending order.
template <class Policy, class Number>
void sort(const Policy&, Number* first, Number* last) {
  brought<Number> values(first, last - first);
  std::sort(values.values.begin(), values.values.end());
}
template <class Policy, class Key, class Number>
void sort_by_key(const Policy&, Key* first, Key* last, Number* values) {
  const std::size_t count = last - first;
  brought<Key> keys(first, count);
  brought<Number> others(values, count);
  std::vector<std::size_t> order = numbered(count);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return keys.values[a] < keys.values[b]; });
  keys.arrange(order);
  others.arrange(order);
}

// Puts those elements first for whose partner in a second array something holds; where the others begin.
template <class Policy, class Number, class Partner, class Predicate>
Number* partition(const Policy&, Number* first, Number* last, Partner* partners, Predicate holds) {
  const std::size_t count = last - first;
  brought<Number> values(first, count);
  brought<Partner> asked(partners, count);
  std::vector<std::size_t> order = numbered(count);
  auto middle = std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return holds(asked.values[i]); });
  values.arrange(order);
  return first + (middle - order.begin());
}

// A number for each element.
template <class Number, class Value>
void fill(Number* first, Number* last, const Value& value) {
  const std::size_t count = last - first;
  const Number number = value;
  std::vector<Number> values(count, number);
  cudaMemcpy(first, values.data(), count * sizeof(Number), cudaMemcpyDefault);
}
template <class Policy, class Number, class Value>
void fill(const Policy&, Number* first, Number* last, const Value& value) {
  thrust::fill(first, last, value);
}

}  // namespace thrust
