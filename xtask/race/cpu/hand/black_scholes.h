// Price and all five derivatives of a call by hand: the distribution and its slope share one exponential.
#include <math.h>

inline double normal_distribution_and_slope(double d, double& slope) {
  const double a1 = 0.31938153, a2 = -0.356563782, a3 = 1.781477937, a4 = -1.821255978, a5 = 1.330274429;
  double k = 1.0 / (1.0 + 0.2316419 * fabs(d));
  double bell = 0.39894228040143267794 * exp(-0.5 * d * d);
  double polynomial = k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5))));
  double its_slope = a1 + k * (2 * a2 + k * (3 * a3 + k * (4 * a4 + k * 5 * a5)));
  double tail = bell * polynomial;
  double of_tail = -d * tail + bell * its_slope * (-0.2316419 * k * k) * (d > 0 ? 1 : -1);
  slope = d > 0 ? -of_tail : of_tail;
  return d > 0 ? 1.0 - tail : tail;
}

inline double call_price_by_hand(double spot, double strike, double years, double rate, double volatility,
                                 double* d_spot, double* d_strike, double* d_years, double* d_rate,
                                 double* d_volatility) {
  double root = sqrt(years), deviation = volatility * root, inverse = 1 / deviation;
  double drift = rate + 0.5 * volatility * volatility;
  double d1 = (log(spot / strike) + drift * years) * inverse, d2 = d1 - deviation;
  double slope1, slope2;
  double c1 = normal_distribution_and_slope(d1, slope1);
  double c2 = normal_distribution_and_slope(d2, slope2);
  double discounted = strike * exp(-rate * years);
  double of_d2 = -discounted * slope2, of_d1 = spot * slope1 + of_d2;
  *d_spot += c1 + of_d1 * inverse / spot;
  *d_strike += -discounted / strike * c2 - of_d1 * inverse / strike;
  *d_years += rate * discounted * c2 + of_d1 * (drift * inverse - 0.5 * d1 / years) - of_d2 * 0.5 * volatility / root;
  *d_rate += years * discounted * c2 + of_d1 * years * inverse;
  *d_volatility += of_d1 * (volatility * years * inverse - d1 / volatility) - of_d2 * root;
  return spot * c1 - discounted * c2;
}
