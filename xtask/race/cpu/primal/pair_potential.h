// The energy of charged bodies, pair by pair, with another law below a distance: a branch in the inner loop.
#include <math.h>

inline double pair_potential(const double* x, const double* y, const double* z, const double* q, int n, double near) {
  double energy = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) {
      double dx = x[i] - x[j];
      double dy = y[i] - y[j];
      double dz = z[i] - z[j];
      double squared = dx * dx + dy * dy + dz * dz + 0.5;
      if (squared < near) {
        double inverse = 1.0 / squared;
        double cubed = inverse * inverse * inverse;
        energy += q[i] * q[j] * (cubed * cubed - cubed);
      } else {
        energy += q[i] * q[j] / sqrt(squared);
      }
    }
  return energy;
}
