// The gradient of Burgers' equation in two arrays by hand: the state of each step is kept, and the reverse sweep gathers,
// so that it vectorises. Where `RollsBack`, `u` ends as it was before the call. The memory is got and given back in the
// call.
#include <stdlib.h>
#include <string.h>

template <bool RollsBack>
inline double burgers_two_arrays_by_hand(double* u, double* v, int n, int steps, double c, double nu, double* du,
                                         double* dv) {
  const size_t bytes = sizeof(double) * n;
  double* record = static_cast<double*>(malloc(bytes * (steps + 1)));
  double* seed = record + static_cast<size_t>(n) * steps;
  for (int t = 0; t < steps; ++t) {
    memcpy(record + static_cast<size_t>(t) * n, u, bytes);
    for (int i = 1; i < n - 1; ++i)
      v[i] = u[i] - c * u[i] * (u[i] - u[i - 1]) + nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]);
    for (int i = 1; i < n - 1; ++i) u[i] = v[i];
  }
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += u[i] * u[i];
    du[i] += 2 * u[i];
  }
  // Adjoints of the final `v` belong to the last step; those of the initial `v` are zero, as it is overwritten unread.
  for (int i = 1; i < n - 1 && steps > 0; ++i) {
    du[i] += dv[i];
    dv[i] = 0;
  }
  for (int t = steps - 1; t >= 0; --t) {
    const double* old = record + static_cast<size_t>(t) * n;
    seed[0] = seed[n - 1] = 0;
    for (int i = 1; i < n - 1; ++i) seed[i] = du[i];
    du[0] += seed[1] * (c * old[1] + nu);
    du[n - 1] += seed[n - 2] * nu;
    for (int i = 1; i < n - 1; ++i)
      du[i] = seed[i] * (1 - c * (2 * old[i] - old[i - 1]) - 2 * nu) + seed[i + 1] * (c * old[i + 1] + nu) +
              seed[i - 1] * nu;
  }
  if (RollsBack && steps > 0) memcpy(u, record, bytes);
  free(record);
  return sum;
}
