// The gradient by Clad. The array is computed too.
#include "clad/Differentiator/Differentiator.h"

inline void gradient(const double* a, const double* b, double* c, int n, double* d_a, double* d_b, double* d_c) {
  static auto gradient_of = clad::gradient(contraction, "a, b, c");
  gradient_of.execute(a, b, c, n, d_a, d_b, d_c);
}
