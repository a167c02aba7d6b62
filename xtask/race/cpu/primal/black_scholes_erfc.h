// The price of a European call by Black and Scholes, for one option, with the library's error function.
#include <math.h>

inline double call_price_erfc(double spot, double strike, double years, double rate, double volatility) {
  double root = sqrt(years);
  double d1 = (log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / (volatility * root);
  double d2 = d1 - volatility * root;
  double c1 = 0.5 * erfc(-d1 * 0.70710678118654752440);
  double c2 = 0.5 * erfc(-d2 * 0.70710678118654752440);
  return spot * c1 - strike * exp(-rate * years) * c2;
}
