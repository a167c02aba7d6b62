// The gradient by Enzyme. The value is not returned.
#include "enzyme/declarations.h"

inline double gradient(double spot, double strike, double years, double rate, double volatility, double* d_spot,
                       double* d_strike, double* d_years, double* d_rate, double* d_volatility) {
  const Slopes slopes =
      __enzyme_autodiff<Slopes>(reinterpret_cast<void*>(call_price), enzyme_out, spot, enzyme_out, strike, enzyme_out,
                                years, enzyme_out, rate, enzyme_out, volatility);
  *d_spot += slopes.spot;
  *d_strike += slopes.strike;
  *d_years += slopes.years;
  *d_rate += slopes.rate;
  *d_volatility += slopes.volatility;
  return 0;
}
