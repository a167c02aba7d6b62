// The sum of all elements of a contraction of two tensors, sum over k of A[i,j,k] B[k,l,m], without storing them.
inline double contraction_sum(const double* a, const double* b, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < n; ++l)
        for (int m = 0; m < n; ++m) {
          double element = 0;
          for (int k = 0; k < n; ++k) element += a[(i * n + j) * n + k] * b[(k * n + l) * n + m];
          sum += element;
        }
  return sum;
}
