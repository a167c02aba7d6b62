// A contraction of two tensors into an array, C[i,j,l,m] = sum over k of A[i,j,k] B[k,l,m].
inline void contraction(const double* a, const double* b, double* c, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < n; ++l)
        for (int m = 0; m < n; ++m) {
          double element = 0;
          for (int k = 0; k < n; ++k) element += a[(i * n + j) * n + k] * b[(k * n + l) * n + m];
          c[((i * n + j) * n + l) * n + m] = element;
        }
}
