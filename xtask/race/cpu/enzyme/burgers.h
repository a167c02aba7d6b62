// The gradient by Enzyme. The value is not returned.
#include "enzyme/declarations.h"

inline double gradient(double* u, int n, int steps, double c, double nu, double* d_u) {
  __enzyme_autodiff<void>(reinterpret_cast<void*>(burgers), enzyme_dup, u, d_u, enzyme_const, n, enzyme_const, steps,
    enzyme_const, c, enzyme_const, nu);
  return 0;
}
