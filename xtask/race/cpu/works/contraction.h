// The data of the contraction to an array, which is an output: it has no value to drop. Sizes: the length of each
// dimension.
#include "../race.h"

struct Work {
  int n;
  std::vector<double> a, b, c, seed, da, db, dc;

  explicit Work(const std::vector<int>& sizes)
      : n(sizes[0]),
        a(random_numbers(n * n * n, -0.5, 0.5)),
        b(random_numbers(n * n * n, -0.5, 0.5)),
        c(a.size() * n),
        seed(random_numbers(c.size(), 0, 1)),
        da(a.size()),
        db(b.size()),
        dc(c.size()) {}

  void reset() {
    clear(c);
    clear(da);
    clear(db);
    dc = seed;
  }
  std::vector<Input> inputs() { return {{all_of(a), all_of(da)}, {all_of(b), all_of(db)}}; }
  std::vector<Numbers> overwritten() { return {all_of(c)}; }
  std::vector<Numbers> values() { return {}; }
  double objective() const {
    double sum = 0;
    for (size_t i = 0; i < c.size(); ++i) sum += c[i] * seed[i];
    return sum;
  }
  double updates() const { return static_cast<double>(n) * n * n * n * n; }

  template <class Function>
  void primal(Function function) {
    function(a.data(), b.data(), c.data(), n);
  }
  template <Value, class Gradient>
  void gradient(Gradient gradient) {
    gradient(a.data(), b.data(), c.data(), n, da.data(), db.data(), dc.data());
  }
};
