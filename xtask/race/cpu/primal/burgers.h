// Burgers' equation with viscosity, stepped in place: each cell is overwritten once a step and read nonlinearly, so a
// gradient must keep values. The result is the sum of the squares of the final state.
inline double burgers(double* u, int n, int steps, double c, double nu) {
  for (int t = 0; t < steps; ++t)
    for (int i = 1; i < n - 1; ++i)
      u[i] = u[i] - c * u[i] * (u[i] - u[i - 1]) + nu * (u[i + 1] - 2.0 * u[i] + u[i - 1]);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += u[i] * u[i];
  return sum;
}
