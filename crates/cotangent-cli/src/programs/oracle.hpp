// The oracle of random programs: differences of a host function itself against its gradient, through the API that users
// have. It shares nothing with `cotangent check`. Values at the end of all memory, each with a weight of its own, make one
// number; every entry of every input is moved by three steps.
#include <cotangent/cotangent.hpp>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace oracle {

enum class Place { device, host };

// An argument, or a variable of the device, and its adjoint.
struct Slot {
  const char* name;
  double* p;
  double* d;
  int count;
  Place place;
  std::vector<double> x, w;
};

// A lambda without its type, so that nothing below is a template.
struct Call {
  void* lambda;
  double (*invoke)(void*);
  double operator()() const { return invoke(lambda); }
  template <class Lambda>
  static Call of(Lambda& lambda) {
    return {&lambda, [](void* erased) { return (*static_cast<Lambda*>(erased))(); }};
  }
};

inline bool& are_wrong() {
  static bool are = false;
  return are;
}

class Case {
 public:
  explicit Case(unsigned long long seed) : state_(seed * 0x9e3779b97f4a7c15ull + 1) {}

  Slot& device(const char* name, int count) {
    Slot& slot = add(name, count, Place::device);
    cudaMalloc(&slot.p, count * sizeof(double));
    cudaMalloc(&slot.d, count * sizeof(double));
    return slot;
  }
  Slot& host(const char* name, int count) {
    Slot& slot = add(name, count, Place::host);
    slot.p = new double[count];
    slot.d = new double[count];
    return slot;
  }
  Slot& variable(const char* name, int count, double* memory) {
    Slot& slot = add(name, count, Place::device);
    slot.p = memory;
    cudaMalloc(&slot.d, count * sizeof(double));
    return slot;
  }
  // A table of halves, which are constant.
  __half* halves(int count) {
    std::vector<__half> values;
    for (int i = 0; i < count; ++i) values.push_back(__float2half(float(number(0.2, 0.9))));
    __half* memory;
    cudaMalloc(&memory, count * sizeof(__half));
    cudaMemcpy(memory, values.data(), count * sizeof(__half), cudaMemcpyHostToDevice);
    return memory;
  }

  template <class Plain, class Gradient>
  void compare(Plain plain, Gradient gradient) {
    compare_calls(Call::of(plain), Call::of(gradient));
  }

 private:
  // Says on one line what came out.
  void compare_calls(Call plain, Call gradient) {
    const long before = free_bytes();
    const double value = objective(plain, nullptr, 0);
    const std::vector<double> after = contents();
    const double returned = returned_;
    if (free_bytes() != before) return say("unfit: the function itself leaks");
    if (!std::isfinite(value)) return say("unfit: the function's value is no number");
    if (std::getenv("ORACLE_PLAIN") != nullptr) return say("right 0 0");

    load(nullptr, 0);
    for (Slot& slot : slots()) put(slot, slot.d, slot.w);
    const double also = gradient();
    if (cudaDeviceSynchronize() != cudaSuccess || cudaGetLastError() != cudaSuccess) return say("wrong: an error of CUDA");
    if (free_bytes() != before) return say("wrong: the gradient leaks");
    if (!is_near(also, returned)) return say("wrong: the value that is returned");
    const std::vector<double> primal = contents();
    for (std::size_t i = 0; i < primal.size(); ++i) {
      if (!is_near(primal[i], after[i])) return say("wrong: the memory of the function");
    }
    for (Slot& slot : slots()) {
      std::vector<double> values = get(slot, slot.d);
      gradient_.insert(gradient_.end(), values.begin(), values.end());
    }
    differences(plain);
  }

  Slot& add(const char* name, int count, Place place) {
    Slot& slot = slots_[used_++];
    slot.name = name;
    slot.count = count;
    slot.place = place;
    for (int i = 0; i < count; ++i) {
      slot.x.push_back(number(0.2, 0.9));
      slot.w.push_back(number(-1.0, 1.0));
    }
    return slot;
  }

  // Those that are used.
  struct Slots {
    Slot* first;
    int count;
    Slot* begin() const { return first; }
    Slot* end() const { return first + count; }
  };
  Slots slots() const { return {const_cast<Slot*>(slots_), used_}; }

  double number(double low, double high) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double(state_ >> 40) / double(1 << 24));
  }

  static bool is_near(double a, double b) { return std::fabs(a - b) <= 1e-12 * std::fmax(1.0, std::fabs(b)); }

  static long free_bytes() {
    std::size_t free = 0, total = 0;
    cudaDeviceSynchronize();
    cudaMemGetInfo(&free, &total);
    return long(free);
  }

  static void put(const Slot& slot, double* to, const std::vector<double>& values) {
    const bool on_device = slot.place == Place::device;
    cudaMemcpy(to, values.data(), values.size() * sizeof(double), on_device ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost);
  }
  static std::vector<double> get(const Slot& slot, const double* from) {
    std::vector<double> values(slot.count);
    const bool on_device = slot.place == Place::device;
    cudaMemcpy(values.data(), from, values.size() * sizeof(double), on_device ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost);
    return values;
  }

  // Fills all memory, moved by a step in a direction.
  void load(const double* direction, double step) {
    std::size_t entry = 0;
    for (Slot& slot : slots()) {
      std::vector<double> values = slot.x;
      for (double& value : values) {
        if (direction != nullptr) value += step * direction[entry];
        ++entry;
      }
      put(slot, slot.p, values);
    }
    cudaDeviceSynchronize();
  }

  std::vector<double> contents() const {
    std::vector<double> all;
    for (const Slot& slot : slots()) {
      std::vector<double> values = get(slot, slot.p);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  double objective(Call plain, const double* direction, double step) {
    load(direction, step);
    returned_ = plain();
    cudaDeviceSynchronize();
    double sum = returned_;
    for (const Slot& slot : slots()) {
      std::vector<double> values = get(slot, slot.p);
      for (int i = 0; i < slot.count; ++i) sum += slot.w[i] * values[i];
    }
    return sum;
  }

  void differences(Call plain) {
    // A direction in which all entries move shows a wrong entry too; single ones say which it is.
    const std::size_t most = std::getenv("ORACLE_FEW") != nullptr ? 6 : 24, directions = 5;
    const std::size_t total = gradient_.size();
    double largest = 0;
    for (double entry : gradient_) {
      if (!std::isfinite(entry)) return say("wrong: no number");
      largest = std::fmax(largest, std::fabs(entry));
    }
    int left_out = 0, compared = 0, wrong = 0;
    std::size_t entry = 0;
    std::string detail;
    for (const Slot& slot : slots()) {
      double scale = 0;
      for (int i = 0; i < slot.count; ++i) scale = std::fmax(scale, std::fabs(gradient_[entry + i]));
      for (int i = 0; i < slot.count; ++i, ++entry) {
        if (total > most && number(0, 1) > double(most) / total) continue;
        std::vector<double> direction(total);
        direction[entry] = 1;
        std::string what = std::string(slot.name) + "[" + std::to_string(i) + "]";
        one(plain, direction, scale, largest, what, compared, left_out, wrong, detail);
      }
    }
    for (std::size_t k = 0; k < directions; ++k) {
      std::vector<double> direction(total);
      for (double& part : direction) part = number(-0.5, 0.5);
      one(plain, direction, largest, largest, "a direction", compared, left_out, wrong, detail);
    }
    if (wrong > 0) return say("wrong: a number\n" + detail);
    if (compared == 0) return say("unfit: kinks everywhere");
    say("right " + std::to_string(compared) + " " + std::to_string(left_out));
  }

  // One direction. Steps of three sizes give two values, each without the error of second order; if they disagree there
  // is a kink, or differences say nothing for another reason.
  void one(Call plain, const std::vector<double>& direction, double scale, double largest,
           const std::string& what, int& compared, int& left_out, int& wrong, std::string& detail) {
    const double step = 2e-3;
    double quotient[3];
    for (int k = 0; k < 3; ++k) {
      const double h = step / (1 << k);
      quotient[k] = (objective(plain, direction.data(), h) - objective(plain, direction.data(), -h)) / (2 * h);
    }
    const double coarse = (4 * quotient[1] - quotient[0]) / 3, fine = (4 * quotient[2] - quotient[1]) / 3;
    const double reference = std::fmax(scale, std::fabs(fine));
    const double doubt = std::fabs(coarse - fine);
    double got = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) got += direction[i] * gradient_[i];
    if (doubt > 1e-6 * (reference + 1e-3 * largest) + 1e-9) {
      ++left_out;
      return;
    }
    ++compared;
    if (std::fabs(got - fine) <= 1e-6 * reference + 1e-8 * largest + 1e-9 + 10 * doubt) return;
    if (++wrong <= 4) {
      char line[160];
      std::snprintf(line, sizeof line, "%s: %.9g, by differences %.9g\n", what.c_str(), got, fine);
      detail += line;
    }
  }

  void say(const std::string& outcome) {
    std::printf("outcome %s\n", outcome.c_str());
    are_wrong() |= outcome.rfind("right", 0) != 0;
  }

  unsigned long long state_;
  double returned_ = 0;
  Slot slots_[24] = {};
  int used_ = 0;
  std::vector<double> gradient_;
};

struct Entry {
  const char* name;
  void (*check)();
};

// Runs the case of that name, or all; 1 if a gradient is wrong.
inline int run(const std::vector<Entry>& entries, int argc, char** argv) {
  for (const Entry& entry : entries) {
    if (argc > 1 && std::strcmp(argv[1], entry.name) != 0) continue;
    try {
      entry.check();
    } catch (const std::exception& error) {
      std::printf("outcome wrong: exception: %s\n", error.what());
      are_wrong() = true;
    }
  }
  std::fflush(stdout);
  return are_wrong() ? 1 : 0;
}

}  // namespace oracle
