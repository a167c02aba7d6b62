// The gradient by Enzyme. The value is not returned.
#include "enzyme/declarations.h"

inline double gradient(const double* x, const double* y, const double* z, const double* q, int n, double near, double*
                       d_x, double* d_y, double* d_z, double* d_q) {
  __enzyme_autodiff<void>(reinterpret_cast<void*>(pair_potential), enzyme_dup, x, d_x, enzyme_dup, y, d_y, enzyme_dup,
    z, d_z, enzyme_dup, q, d_q, enzyme_const, n, enzyme_const, near);
  return 0;
}
