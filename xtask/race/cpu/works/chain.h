// The data of a chain of calls. Sizes: numbers that it is called for, one after the other: calls for several at once, in
// the lanes of one register, would be measured otherwise.
#include "../race.h"

struct Work {
  std::vector<double> x, y, dx;

  explicit Work(const std::vector<int>& sizes)
      : x(random_numbers(sizes[0], 0.1, 0.9)), y(x.size()), dx(x.size()) {}

  void reset() { clear(dx); }
  std::vector<Input> inputs() { return {{all_of(x), all_of(dx)}}; }
  std::vector<Numbers> overwritten() { return {}; }
  std::vector<Numbers> values() { return {all_of(y)}; }
  double objective() const {
    double sum = 0;
    for (double one : y) sum += one;
    return sum;
  }
  double updates() const { return x.size(); }

  template <class Function>
  void primal(Function function) {
    for (size_t i = 0; i < x.size(); ++i) {
      y[i] = function(x[i]);
      asm volatile("" ::: "memory");
    }
  }
  template <Value value, class Gradient>
  void gradient(Gradient gradient) {
    for (size_t i = 0; i < x.size(); ++i) {
      const double result = gradient(x[i], &dx[i]);
      if (value == Value::Returned) y[i] = result;
      asm volatile("" ::: "memory");
    }
  }
};
