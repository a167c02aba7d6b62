// The price of a European call by Black and Scholes, for one option. The normal distribution is the polynomial of
// Abramowitz and Stegun, whose exponential the derivative can use again.
#include <math.h>

inline double normal_distribution(double d) {
  const double a1 = 0.31938153, a2 = -0.356563782, a3 = 1.781477937, a4 = -1.821255978, a5 = 1.330274429;
  double k = 1.0 / (1.0 + 0.2316419 * fabs(d));
  double tail = 0.39894228040143267794 * exp(-0.5 * d * d) * (k * (a1 + k * (a2 + k * (a3 + k * (a4 + k * a5)))));
  if (d > 0) tail = 1.0 - tail;
  return tail;
}

inline double call_price(double spot, double strike, double years, double rate, double volatility) {
  double root = sqrt(years);
  double d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root);
  double d2 = d1 - volatility * root;
  double c1 = normal_distribution(d1);
  double c2 = normal_distribution(d2);
  return spot * c1 - strike * exp(-rate * years) * c2;
}
