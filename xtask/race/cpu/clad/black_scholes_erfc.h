// The gradient by Clad. The value is not returned.
#include "clad/Differentiator/Differentiator.h"

inline double gradient(double spot, double strike, double years, double rate, double volatility, double* d_spot,
                       double* d_strike, double* d_years, double* d_rate, double* d_volatility) {
  static auto gradient_of = clad::gradient(call_price_erfc);
  gradient_of.execute(spot, strike, years, rate, volatility, d_spot, d_strike, d_years, d_rate, d_volatility);
  return 0;
}
