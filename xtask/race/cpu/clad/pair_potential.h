// The gradient by Clad. The value is not returned.
#include "clad/Differentiator/Differentiator.h"

inline double gradient(const double* x, const double* y, const double* z, const double* q, int n, double near, double*
                       d_x, double* d_y, double* d_z, double* d_q) {
  static auto gradient_of = clad::gradient(pair_potential, "x, y, z, q");
  gradient_of.execute(x, y, z, q, n, near, d_x, d_y, d_z, d_q);
  return 0;
}
