// The gradient by Clad. The value is not returned.
#include "clad/Differentiator/Differentiator.h"

inline double gradient(double* u, int n, int steps, double c, double nu, double* d_u) {
  static auto gradient_of = clad::gradient(burgers, "u");
  gradient_of.execute(u, n, steps, c, nu, d_u);
  return 0;
}
