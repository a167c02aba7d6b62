// What Enzyme replaces calls of, and the words that say what an argument is.
#pragma once

extern int enzyme_dup, enzyme_const, enzyme_out;

template <class Result, class... Arguments>
Result __enzyme_autodiff(void*, Arguments...);

// What it returns for the five parameters of a price.
struct Slopes {
  double spot, strike, years, rate, volatility;
};
