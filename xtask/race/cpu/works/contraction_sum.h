// The data of the contraction to a sum. Sizes: the length of each dimension.
#include "../race.h"

struct Work {
  int n;
  std::vector<double> a, b, da, db;
  double sum = 0;

  explicit Work(const std::vector<int>& sizes)
      : n(sizes[0]),
        a(random_numbers(n * n * n, -0.5, 0.5)),
        b(random_numbers(n * n * n, -0.5, 0.5)),
        da(a.size()),
        db(b.size()) {}

  void reset() {
    clear(da);
    clear(db);
  }
  std::vector<Input> inputs() { return {{all_of(a), all_of(da)}, {all_of(b), all_of(db)}}; }
  std::vector<Numbers> overwritten() { return {}; }
  std::vector<Numbers> values() { return {{&sum, 1}}; }
  double objective() const { return sum; }
  double updates() const { return static_cast<double>(n) * n * n * n * n; }

  template <class Function>
  void primal(Function function) {
    sum = function(a.data(), b.data(), n);
  }
  template <Value value, class Gradient>
  void gradient(Gradient gradient) {
    const double result = gradient(a.data(), b.data(), n, da.data(), db.data());
    if (value == Value::Returned) sum = result;
  }
};
