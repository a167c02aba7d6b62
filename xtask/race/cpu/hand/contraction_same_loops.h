// The gradient of a contraction by hand in the loops of the program, fused with them: no reordering.
inline void contraction_same_loops(const double* a, const double* b, double* c, int n, double* da, double* db,
                                   double* dc) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < n; ++l)
        for (int m = 0; m < n; ++m) {
          const int at = ((i * n + j) * n + l) * n + m;
          const double seed = dc[at];
          dc[at] = 0;
          double element = 0;
          for (int k = 0; k < n; ++k) {
            element += a[(i * n + j) * n + k] * b[(k * n + l) * n + m];
            da[(i * n + j) * n + k] += seed * b[(k * n + l) * n + m];
            db[(k * n + l) * n + m] += seed * a[(i * n + j) * n + k];
          }
          c[at] = element;
        }
}
