// The gradient of Burgers' equation in place by hand: each overwritten value is kept once, in a flat array, and put back
// on the way, so that `u` ends as it was before the call. The memory is got and given back in the call.
#include <stdlib.h>

inline double burgers_by_hand(double* u, int n, int steps, double c, double nu, double* du) {
  double* record = static_cast<double*>(malloc(sizeof(double) * n * steps));
  for (int t = 0; t < steps; ++t) {
    double* old = record + static_cast<size_t>(t) * n;
    for (int i = 1; i < n - 1; ++i) {
      old[i] = u[i];
      u[i] = u[i] - c * u[i] * (u[i] - u[i - 1]) + nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]);
    }
  }
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += u[i] * u[i];
  for (int i = 0; i < n; ++i) du[i] += 2 * u[i];
  for (int t = steps - 1; t >= 0; --t) {
    const double* old = record + static_cast<size_t>(t) * n;
    for (int i = n - 2; i > 0; --i) {
      const double here = old[i], before = u[i - 1], seed = du[i];
      u[i] = here;
      du[i] = seed * (1 - c * (2 * here - before) - 2 * nu);
      du[i - 1] += seed * (c * here + nu);
      du[i + 1] += seed * nu;
    }
  }
  free(record);
  return sum;
}
