// The gradient by Enzyme. The value is not returned.
#include "enzyme/declarations.h"

inline double gradient(double* u, double* v, int n, int steps, double c, double nu, double* d_u, double* d_v) {
  __enzyme_autodiff<void>(reinterpret_cast<void*>(burgers_two_arrays), enzyme_dup, u, d_u, enzyme_dup, v, d_v,
    enzyme_const, n, enzyme_const, steps, enzyme_const, c, enzyme_const, nu);
  return 0;
}
