// The data of the pair potential. Sizes: bodies.
#include "../race.h"

struct Work {
  std::vector<double> x, y, z, q, dx, dy, dz, dq;
  double energy = 0;

  explicit Work(const std::vector<int>& sizes)
      : x(random_numbers(sizes[0], 0, 10)),
        y(random_numbers(sizes[0], 0, 10)),
        z(random_numbers(sizes[0], 0, 10)),
        q(random_numbers(sizes[0], 0.5, 1.5)),
        dx(sizes[0]),
        dy(sizes[0]),
        dz(sizes[0]),
        dq(sizes[0]) {}

  void reset() {
    for (std::vector<double>* gradient : {&dx, &dy, &dz, &dq}) clear(*gradient);
  }
  std::vector<Input> inputs() {
    return {{all_of(x), all_of(dx)}, {all_of(y), all_of(dy)}, {all_of(z), all_of(dz)}, {all_of(q), all_of(dq)}};
  }
  std::vector<Numbers> overwritten() { return {}; }
  std::vector<Numbers> values() { return {{&energy, 1}}; }
  double objective() const { return energy; }
  double updates() const { return 0.5 * x.size() * x.size(); }

  template <class Function>
  void primal(Function function) {
    energy = function(x.data(), y.data(), z.data(), q.data(), x.size(), 4.0);
  }
  template <Value value, class Gradient>
  void gradient(Gradient gradient) {
    const double result = gradient(x.data(), y.data(), z.data(), q.data(), x.size(), 4.0, dx.data(), dy.data(),
                                   dz.data(), dq.data());
    if (value == Value::Returned) energy = result;
  }
};
