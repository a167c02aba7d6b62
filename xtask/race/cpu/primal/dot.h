// The scalar product of two arrays.
inline double dot(const double* x, const double* y, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}
