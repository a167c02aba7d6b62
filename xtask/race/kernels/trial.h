// Runs a kernel, its gradient and the one by hand on the executor. All arrays after each gradient are compared with those
// after the one by hand, at several sizes of block; where nobody has written one, with differences along one direction.
// Then they take turns, and minima of processor time are printed.
#pragma once

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <functional>
#include <string>
#include <vector>

// Arrays that can be set back to what they held at first.
class Arrays {
 public:
  // Always the same numbers, between 0.25 and 1.25.
  float* random(int count) {
    float* array = zero(count);
    for (int i = 0; i < count; ++i) {
      state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
      first_.back()[i] = array[i] = 0.25f + (state_ >> 40) * (1.0f / 16777216.0f);
    }
    return array;
  }

  float* zero(int count) {
    float* array = nullptr;
    cudaMallocManaged(&array, count * sizeof(float));
    memset(array, 0, count * sizeof(float));
    arrays_.push_back(array);
    first_.emplace_back(count, 0.0f);
    return array;
  }

  void reset() {
    for (size_t i = 0; i < arrays_.size(); ++i) memcpy(arrays_[i], first_[i].data(), first_[i].size() * sizeof(float));
  }

  // Array by array.
  std::vector<std::vector<float>> contents() const {
    std::vector<std::vector<float>> all;
    for (size_t i = 0; i < arrays_.size(); ++i) all.emplace_back(arrays_[i], arrays_[i] + first_[i].size());
    return all;
  }

 private:
  std::vector<float*> arrays_;
  std::vector<std::vector<float>> first_;
  unsigned long long state_ = 1;
};

// An array and its adjoint.
struct Pair {
  float *values, *adjoint;
  int count;
};

struct Trial {
  Arrays& arrays;
  std::string task;
  // Each is given how many threads a block has.
  std::function<void(int)> primal, ours, by_hand;
  std::function<size_t(int)> bytes;
  std::vector<Pair> inputs, outputs;

  Trial(Arrays& arrays, int count, char** words) : arrays(arrays), task(count > 1 ? words[1] : "") {}

  int run(const std::vector<int>& blocks_by_hand, const std::vector<int>& blocks_of_ours, int usual) {
    printf("bytes\t%zu\n", bytes(usual));
    if (task == "bytes") return 0;
    double worst = 0;
    if (by_hand) {
      const auto expected = after(by_hand, usual);
      for (int threads : blocks_by_hand) worst = fmax(worst, difference(expected, after(by_hand, threads)));
      for (int threads : blocks_of_ours) worst = fmax(worst, difference(expected, after(ours, threads)));
    } else {
      for (int threads : blocks_of_ours) worst = fmax(worst, against_differences(threads));
    }
    printf("error\t%.3e\n", worst);
    if (task == "time") take_turns(usual);
    return 0;
  }

  std::vector<std::vector<float>> after(const std::function<void(int)>& launch, int threads) {
    arrays.reset();
    launch(threads);
    cudaDeviceSynchronize();
    return arrays.contents();
  }

  // The largest difference within an array, against its largest number; NaN counts as infinite.
  static double difference(const std::vector<std::vector<float>>& expected,
                           const std::vector<std::vector<float>>& found) {
    double worst = 0;
    for (size_t k = 0; k < expected.size(); ++k) {
      double largest = 1e-30;
      for (float number : expected[k]) largest = fmax(largest, fabs(number));
      for (size_t i = 0; i < expected[k].size(); ++i) {
        const double error = fabs(static_cast<double>(expected[k][i]) - found[k][i]) / largest;
        worst = error < HUGE_VAL ? fmax(worst, error) : HUGE_VAL;
      }
    }
    return worst;
  }

  // How the seeded sum of the outputs changes along a direction, against what the adjoints say.
  double against_differences(int threads) {
    std::vector<std::vector<float>> seeds;
    arrays.reset();
    for (const Pair& output : outputs) seeds.emplace_back(output.adjoint, output.adjoint + output.count);
    ours(threads);
    cudaDeviceSynchronize();
    const auto direction = [](size_t k, int i) { return ((i * 7 + static_cast<int>(k) * 3) % 11 - 5) / 5.0; };
    double expected = 0, scale = 0;
    for (size_t k = 0; k < inputs.size(); ++k)
      for (int i = 0; i < inputs[k].count; ++i) {
        const double term = inputs[k].adjoint[i] * direction(k, i);
        expected += term;
        scale += fabs(term);
      }
    const double step = 1e-3;
    double found = 0;
    for (int sign : {1, -1}) {
      arrays.reset();
      for (size_t k = 0; k < inputs.size(); ++k)
        for (int i = 0; i < inputs[k].count; ++i) inputs[k].values[i] += sign * step * direction(k, i);
      primal(threads);
      cudaDeviceSynchronize();
      for (size_t k = 0; k < outputs.size(); ++k)
        for (int i = 0; i < outputs[k].count; ++i) found += sign * seeds[k][i] * static_cast<double>(outputs[k].values[i]);
    }
    return fabs(found / (2 * step) - expected) / scale;
  }

  void take_turns(int threads) {
    double of_primal = HUGE_VAL, of_ours = HUGE_VAL, of_hand = HUGE_VAL;
    for (int round = 0; round < 15; ++round) {
      keep_least(of_primal, primal, threads);
      keep_least(of_ours, ours, threads);
      if (by_hand) keep_least(of_hand, by_hand, threads);
    }
    printf("time\t%.9g\t%.9g\t%.9g\n", of_primal, of_ours, by_hand ? of_hand : 0.0);
  }

  void keep_least(double& least, const std::function<void(int)>& launch, int threads) {
    arrays.reset();
    const double start = seconds();
    launch(threads);
    cudaDeviceSynchronize();
    least = fmin(least, seconds() - start);
  }

  static double seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
  }
};
