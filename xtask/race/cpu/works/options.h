// The data of both forms of Black-Scholes. Sizes: options.
#include "../race.h"

struct Work {
  std::vector<double> spot, strike, years, price, slopes[5];
  double rate = 0.02, volatility = 0.3;

  explicit Work(const std::vector<int>& sizes)
      : spot(random_numbers(sizes[0], 5, 30)),
        strike(random_numbers(sizes[0], 1, 100)),
        years(random_numbers(sizes[0], 0.25, 10)),
        price(sizes[0]) {
    for (auto& slope : slopes) slope.resize(sizes[0]);
  }

  void reset() {
    for (auto& slope : slopes) clear(slope);
  }
  std::vector<Input> inputs() {
    return {{all_of(spot), all_of(slopes[0])},
            {all_of(strike), all_of(slopes[1])},
            {all_of(years), all_of(slopes[2])},
            {{&rate, 1}, all_of(slopes[3])},
            {{&volatility, 1}, all_of(slopes[4])}};
  }
  std::vector<Numbers> overwritten() { return {}; }
  std::vector<Numbers> values() { return {all_of(price)}; }
  double objective() const {
    double sum = 0;
    for (double one : price) sum += one;
    return sum;
  }
  double updates() const { return spot.size(); }

  template <class Function>
  void primal(Function function) {
    for (size_t i = 0; i < spot.size(); ++i) price[i] = function(spot[i], strike[i], years[i], rate, volatility);
  }
  template <Value value, class Gradient>
  void gradient(Gradient gradient) {
    double *of_spot = slopes[0].data(), *of_strike = slopes[1].data(), *of_years = slopes[2].data();
    double *of_rate = slopes[3].data(), *of_volatility = slopes[4].data();
    for (size_t i = 0; i < spot.size(); ++i) {
      const double result = gradient(spot[i], strike[i], years[i], rate, volatility, of_spot + i, of_strike + i,
                                     of_years + i, of_rate + i, of_volatility + i);
      if (value == Value::Returned) price[i] = result;
    }
  }
};
