// The gradient of the pair potential by hand, with the value, in one pass and without a record.
#include <math.h>

inline double pair_potential_by_hand(const double* x, const double* y, const double* z, const double* q, int n,
                                     double near, double* d_x, double* d_y, double* d_z, double* d_q) {
  double energy = 0;
  for (int i = 0; i < n; ++i) {
    double of_x = 0, of_y = 0, of_z = 0, of_q = 0;
    for (int j = 0; j < i; ++j) {
      const double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
      const double squared = dx * dx + dy * dy + dz * dz + 0.5;
      double law, slope;
      if (squared < near) {
        const double inverse = 1 / squared, cubed = inverse * inverse * inverse;
        law = cubed * cubed - cubed;
        slope = -3 * inverse * cubed * (2 * cubed - 1);
      } else {
        law = 1 / sqrt(squared);
        slope = -0.5 * law / squared;
      }
      energy += q[i] * q[j] * law;
      of_q += q[j] * law;
      d_q[j] += q[i] * law;
      const double force = 2 * q[i] * q[j] * slope;
      of_x += force * dx;
      of_y += force * dy;
      of_z += force * dz;
      d_x[j] -= force * dx;
      d_y[j] -= force * dy;
      d_z[j] -= force * dz;
    }
    d_x[i] += of_x;
    d_y[i] += of_y;
    d_z[i] += of_z;
    d_q[i] += of_q;
  }
  return energy;
}
