// The data of Burgers' equation in two arrays. Sizes: cells, steps.
#include "../race.h"

struct Work {
  int steps;
  std::vector<double> initial, u, v, du, dv;
  double sum = 0;

  explicit Work(const std::vector<int>& sizes)
      : steps(sizes[1]), initial(sizes[0]), u(sizes[0]), v(sizes[0]), du(sizes[0]), dv(sizes[0]) {
    for (size_t i = 0; i < initial.size(); ++i)
      initial[i] = 0.5 + 0.5 * sin(6.283185307179586 * i / initial.size());
  }

  void reset() {
    u = initial;
    v = initial;
    clear(du);
    clear(dv);
  }
  std::vector<Input> inputs() { return {{all_of(u), all_of(du)}}; }
  std::vector<Numbers> overwritten() { return {all_of(u)}; }
  std::vector<Numbers> values() { return {{&sum, 1}}; }
  double objective() const { return sum; }
  double updates() const { return static_cast<double>(u.size()) * steps; }

  template <class Function>
  void primal(Function function) {
    sum = function(u.data(), v.data(), u.size(), steps, 0.2, 0.1);
  }
  template <Value value, class Gradient>
  void gradient(Gradient gradient) {
    const double result = gradient(u.data(), v.data(), u.size(), steps, 0.2, 0.1, du.data(), dv.data());
    if (value == Value::Returned) sum = result;
  }
};
