// The data of the scalar product. Sizes: numbers of each array.
#include "../race.h"

struct Work {
  std::vector<double> x, y, dx, dy;
  double sum = 0;

  explicit Work(const std::vector<int>& sizes)
      : x(random_numbers(sizes[0], 0, 1)), y(random_numbers(sizes[0], 0, 1)), dx(x.size()), dy(x.size()) {}

  void reset() {
    clear(dx);
    clear(dy);
  }
  std::vector<Input> inputs() { return {{all_of(x), all_of(dx)}, {all_of(y), all_of(dy)}}; }
  std::vector<Numbers> overwritten() { return {}; }
  std::vector<Numbers> values() { return {{&sum, 1}}; }
  double objective() const { return sum; }
  double updates() const { return x.size(); }

  template <class Function>
  void primal(Function function) {
    sum = function(x.data(), y.data(), x.size());
  }
  template <Value value, class Gradient>
  void gradient(Gradient gradient) {
    const double result = gradient(x.data(), y.data(), x.size(), dx.data(), dy.data());
    if (value == Value::Returned) sum = result;
  }
};
