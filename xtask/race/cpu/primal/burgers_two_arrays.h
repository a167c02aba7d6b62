// Burgers' equation with viscosity, from one array into another and back, as a GPU would do it: both loops vectorise.
inline double burgers_two_arrays(double* u, double* v, int n, int steps, double c, double nu) {
  for (int t = 0; t < steps; ++t) {
    for (int i = 1; i < n - 1; ++i)
      v[i] = u[i] - c * u[i] * (u[i] - u[i - 1]) + nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]);
    for (int i = 1; i < n - 1; ++i) u[i] = v[i];
  }
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += u[i] * u[i];
  return sum;
}
