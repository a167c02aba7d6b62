// Who wins a search for the greatest or least value, where values are equal, are no numbers, or never beat the first one:
// the source's own comparison says, and only the winner has a derivative.
#include <cmath>
#include <cotangent/cotangent.hpp>
#include <cstdio>
#include <vector>

// A search and, beside it, who wins it by the comparison as it is written: -1 is the first value.
#define SEARCH(name, statement, takes)                                                \
  __host__ __device__ double name(const double* x, double first, int n) {             \
    double m = first;                                                                 \
    for (int i = 0; i < n; ++i) {                                                     \
      statement;                                                                      \
    }                                                                                 \
    return 3.0 * m;                                                                   \
  }                                                                                   \
  int winner_of_##name(const double* x, double first, int n) {                        \
    double m = first;                                                                 \
    int winner = -1;                                                                  \
    for (int i = 0; i < n; ++i) {                                                     \
      if (takes) m = x[i], winner = i;                                                \
    }                                                                                 \
    return winner;                                                                    \
  }

SEARCH(greater, if (x[i] > m) m = x[i], x[i] > m)
SEARCH(greater_or_equal, if (x[i] >= m) m = x[i], x[i] >= m)
SEARCH(not_less, if (!(x[i] < m)) m = x[i], !(x[i] < m))
SEARCH(less, if (x[i] < m) { m = x[i]; }, x[i] < m)
SEARCH(less_or_equal, m = x[i] <= m ? x[i] : m, x[i] <= m)
SEARCH(kept_if_less, m = m < x[i] ? m : x[i], !(m < x[i]))
// Of two equal values these give the first; of a number and what is none, the number.
SEARCH(fmax_of_old, m = fmax(m, x[i]), !(m >= x[i] || std::isnan(x[i])))
SEARCH(fmax_of_new, m = fmax(x[i], m), x[i] >= m || std::isnan(m))
SEARCH(fmin_of_old, m = fmin(m, x[i]), !(m <= x[i] || std::isnan(x[i])))
SEARCH(fmin_of_new, m = fmin(x[i], m), x[i] <= m || std::isnan(m))

int failures = 0;

template <class Gradient, class Winner>
void check(const char* name, Gradient gradient, Winner winner_of, std::vector<double> x, double first) {
  int n = x.size();
  std::vector<double> d_x(n, 0.0);
  double d_first = 0.0;
  gradient.execute(x.data(), first, n, d_x.data(), &d_first);
  int winner = winner_of(x.data(), first, n);
  for (int i = -1; i < n; ++i) {
    double got = i < 0 ? d_first : d_x[i];
    double expected = i == winner ? 3.0 : 0.0;
    if (got == expected) continue;
    printf("%s: element %d of %d has %g, not %g\n", name, i, n, got, expected);
    ++failures;
  }
}

int main() {
  const double none = std::nan("");
  const double infinite = HUGE_VAL;
  const std::vector<std::vector<double>> rows = {
      {},
      {1.0},
      {2.0, 5.0, 3.0, 5.0, 1.0},
      {4.0, 4.0, 4.0},
      {none, 2.0, none, 7.0, 7.0, none},
      {none, none},
      {0.0, -0.0, 0.0},
      {infinite, 1.0, infinite, -infinite, -infinite},
  };
  for (const auto& x : rows) {
    for (double first : {-1e30, 1e30, 4.0, 0.0, -0.0, none, infinite}) {
      check("greater", cotangent::gradient(greater), winner_of_greater, x, first);
      check("greater_or_equal", cotangent::gradient(greater_or_equal), winner_of_greater_or_equal, x, first);
      check("not_less", cotangent::gradient(not_less), winner_of_not_less, x, first);
      check("less", cotangent::gradient(less), winner_of_less, x, first);
      check("less_or_equal", cotangent::gradient(less_or_equal), winner_of_less_or_equal, x, first);
      check("kept_if_less", cotangent::gradient(kept_if_less), winner_of_kept_if_less, x, first);
      check("fmax_of_old", cotangent::gradient(fmax_of_old), winner_of_fmax_of_old, x, first);
      check("fmax_of_new", cotangent::gradient(fmax_of_new), winner_of_fmax_of_new, x, first);
      check("fmin_of_old", cotangent::gradient(fmin_of_old), winner_of_fmin_of_old, x, first);
      check("fmin_of_new", cotangent::gradient(fmin_of_new), winner_of_fmin_of_new, x, first);
    }
  }
  if (failures == 0) printf("all winners are right\n");
  return failures != 0;
}
