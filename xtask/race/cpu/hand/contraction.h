// The gradient of a contraction by hand, with the array C: loops ordered so that the inner ones run along memory.
inline void contraction_by_hand(const double* a, const double* b, double* c, int n, double* da, double* db, double* dc) {
  const int slice = n * n;
  for (int row = 0; row < slice; ++row) {
    double* of_row = c + row * slice;
    double* d_row = dc + row * slice;
    for (int p = 0; p < slice; ++p) of_row[p] = 0;
    for (int k = 0; k < n; ++k) {
      const double factor = a[row * n + k];
      for (int p = 0; p < slice; ++p) of_row[p] += factor * b[k * slice + p];
    }
    for (int k = 0; k < n; ++k) {
      const double factor = a[row * n + k];
      const double* of_b = b + k * slice;
      double* d_of_b = db + k * slice;
      // Four sums, as the compiler may not reorder one.
      double sums[4] = {0, 0, 0, 0};
      int p = 0;
      for (; p + 3 < slice; p += 4)
        for (int lane = 0; lane < 4; ++lane) sums[lane] += d_row[p + lane] * of_b[p + lane];
      for (; p < slice; ++p) sums[0] += d_row[p] * of_b[p];
      for (p = 0; p < slice; ++p) d_of_b[p] += factor * d_row[p];
      da[row * n + k] += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    // The adjoint of what was overwritten.
    for (int p = 0; p < slice; ++p) d_row[p] = 0;
  }
}
