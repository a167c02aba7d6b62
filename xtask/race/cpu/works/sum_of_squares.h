// The data of the sum of squares. Sizes: numbers.
#include "../race.h"

struct Work {
  std::vector<double> x, dx;
  double sum = 0;

  explicit Work(const std::vector<int>& sizes) : x(random_numbers(sizes[0], 0, 1)), dx(x.size()) {}

  void reset() { clear(dx); }
  std::vector<Input> inputs() { return {{all_of(x), all_of(dx)}}; }
  std::vector<Numbers> overwritten() { return {}; }
  std::vector<Numbers> values() { return {{&sum, 1}}; }
  double objective() const { return sum; }
  double updates() const { return x.size(); }

  template <class Function>
  void primal(Function function) {
    sum = function(x.data(), x.size());
  }
  template <Value value, class Gradient>
  void gradient(Gradient gradient) {
    const double result = gradient(x.data(), x.size(), dx.data());
    if (value == Value::Returned) sum = result;
  }
};
