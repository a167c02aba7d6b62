// Price and all five derivatives of a call by hand, with the library's error function.
#include <math.h>

inline double error_function_and_slope(double d, double& slope) {
  slope = 0.39894228040143267794 * exp(-0.5 * d * d);
  return 0.5 * erfc(-d * 0.70710678118654752440);
}

inline double call_price_erfc_by_hand(double spot, double strike, double years, double rate, double volatility,
                                      double* d_spot, double* d_strike, double* d_years, double* d_rate,
                                      double* d_volatility) {
  double root = sqrt(years), deviation = volatility * root, inverse = 1 / deviation;
  double drift = rate + 0.5 * volatility * volatility;
  double d1 = (log(spot / strike) + drift * years) * inverse, d2 = d1 - deviation;
  double slope1, slope2;
  double c1 = error_function_and_slope(d1, slope1);
  double c2 = error_function_and_slope(d2, slope2);
  double discounted = strike * exp(-rate * years);
  double of_d2 = -discounted * slope2, of_d1 = spot * slope1 + of_d2;
  *d_spot += c1 + of_d1 * inverse / spot;
  *d_strike += -discounted / strike * c2 - of_d1 * inverse / strike;
  *d_years += rate * discounted * c2 + of_d1 * (drift * inverse - 0.5 * d1 / years) - of_d2 * 0.5 * volatility / root;
  *d_rate += years * discounted * c2 + of_d1 * years * inverse;
  *d_volatility += of_d1 * (volatility * years * inverse - d1 / volatility) - of_d2 * root;
  return spot * c1 - discounted * c2;
}
