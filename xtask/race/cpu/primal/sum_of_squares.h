// The sum of the squares of an array: the simplest reduction.
inline double sum_of_squares(const double* x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}
