// The gradient by Clad. The value is not returned.
#include "clad/Differentiator/Differentiator.h"

inline double gradient(double* u, double* v, int n, int steps, double c, double nu, double* d_u, double* d_v) {
  static auto gradient_of = clad::gradient(burgers_two_arrays, "u, v");
  gradient_of.execute(u, v, n, steps, c, nu, d_u, d_v);
  return 0;
}
