// The gradient of the sum of a contraction by hand: each element of A takes part in a whole slice of B, and the other
// way round, so the sweep is two loops and not five.
inline double contraction_sum_by_hand(const double* a, const double* b, int n, double* da, double* db) {
  double sum = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < n; ++l)
        for (int m = 0; m < n; ++m) {
          double element = 0;
          for (int k = 0; k < n; ++k) element += a[(i * n + j) * n + k] * b[(k * n + l) * n + m];
          sum += element;
        }
  const int slice = n * n;
  for (int row = 0; row < slice; ++row)
    for (int k = 0; k < n; ++k) {
      const double factor = a[row * n + k];
      double total = 0;
      for (int p = 0; p < slice; ++p) total += b[k * slice + p];
      da[row * n + k] += total;
      for (int p = 0; p < slice; ++p) db[k * slice + p] += factor;
    }
  return sum;
}
