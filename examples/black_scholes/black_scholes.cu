// European calls and puts by Black and Scholes, and all their Greeks.
//
// The kernel prices one option a thread. Its gradient is delta, vega, theta and rho in one launch; gamma is a difference
// of two deltas. All of them are compared with their closed forms.
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                  \
  do {                                                                               \
    cudaError_t error = (call);                                                      \
    if (error != cudaSuccess) {                                                      \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

// The normal distribution and its density.
__host__ __device__ double cumulative(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
__host__ __device__ double density(double x) { return 0.39894228040143268 * exp(-0.5 * x * x); }

// The prices of calls and puts: spot and strike, years to go, volatility and interest a year.
__global__ void price(const double* spot, const double* strike, const double* years, const double* volatility,
                      const double* interest, double* call, double* put, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double spread = volatility[i] * sqrt(years[i]);
  double d1 = (log(spot[i] / strike[i]) + (interest[i] + 0.5 * volatility[i] * volatility[i]) * years[i]) / spread;
  double d2 = d1 - spread;
  double discounted = strike[i] * exp(-interest[i] * years[i]);
  call[i] = spot[i] * cumulative(d1) - discounted * cumulative(d2);
  put[i] = discounted * cumulative(-d2) - spot[i] * cumulative(-d1);
}

// An array of the device, zero at first.
struct Array {
  double* data;
  int size;

  explicit Array(int n) : size(n) {
    CHECK(cudaMalloc(&data, n * sizeof(double)));
    CHECK(cudaMemset(data, 0, n * sizeof(double)));
  }
  explicit Array(const std::vector<double>& values) : Array(static_cast<int>(values.size())) {
    CHECK(cudaMemcpy(data, values.data(), size * sizeof(double), cudaMemcpyHostToDevice));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { cudaFree(data); }

  std::vector<double> values() const {
    std::vector<double> values(size);
    CHECK(cudaMemcpy(values.data(), data, size * sizeof(double), cudaMemcpyDeviceToHost));
    return values;
  }
};

struct Options {
  std::vector<double> spot, strike, years, volatility, interest;
};

struct Greeks {
  std::vector<double> price, delta, gamma, vega, theta, rho;
};

enum Kind { Call, Put };

// Prices, and their first derivatives, for options of one kind.
Greeks first_order(const Options& options, Kind kind) {
  int n = static_cast<int>(options.spot.size());
  Array spot(options.spot), strike(options.strike), years(options.years), volatility(options.volatility);
  Array interest(options.interest), call(n), put(n);
  Array d_spot(n), d_years(n), d_volatility(n), d_interest(n);
  // What we ask about changes by 1 with the price of this kind, and does not depend on the other.
  Array d_call(std::vector<double>(n, kind == Call)), d_put(std::vector<double>(n, kind == Put));

  auto gradient = cotangent::gradient(price, "spot, years, volatility, interest, call, put");
  gradient.execute_kernel((n + 127) / 128, 128, spot.data, strike.data, years.data, volatility.data, interest.data,
                          call.data, put.data, n, d_spot.data, d_years.data, d_volatility.data, d_interest.data,
                          d_call.data, d_put.data);

  Greeks greeks;
  greeks.price = (kind == Call ? call : put).values();
  greeks.delta = d_spot.values();
  greeks.vega = d_volatility.values();
  greeks.theta = d_years.values();
  // Time passes: an option has less of it left every day.
  for (double& theta : greeks.theta) theta = -theta;
  greeks.rho = d_interest.values();
  return greeks;
}

// All Greeks; gamma by the central difference of delta.
Greeks all_greeks(const Options& options, Kind kind) {
  const double step = 1e-4;
  Options up = options, down = options;
  for (double& spot : up.spot) spot *= 1 + step;
  for (double& spot : down.spot) spot *= 1 - step;
  Greeks greeks = first_order(options, kind);
  std::vector<double> above = first_order(up, kind).delta, below = first_order(down, kind).delta;
  for (std::size_t i = 0; i < options.spot.size(); ++i) {
    greeks.gamma.push_back((above[i] - below[i]) / (2 * step * options.spot[i]));
  }
  return greeks;
}

// The same from the textbook.
Greeks closed_forms(const Options& options, Kind kind) {
  Greeks greeks;
  double sign = kind == Call ? 1 : -1;
  for (std::size_t i = 0; i < options.spot.size(); ++i) {
    double s = options.spot[i], x = options.strike[i], t = options.years[i];
    double v = options.volatility[i], r = options.interest[i];
    double d1 = (std::log(s / x) + (r + v * v / 2) * t) / (v * std::sqrt(t)), d2 = d1 - v * std::sqrt(t);
    double discounted = x * std::exp(-r * t);
    greeks.price.push_back(sign * (s * cumulative(sign * d1) - discounted * cumulative(sign * d2)));
    greeks.delta.push_back(sign * cumulative(sign * d1));
    greeks.gamma.push_back(density(d1) / (s * v * std::sqrt(t)));
    greeks.vega.push_back(s * density(d1) * std::sqrt(t));
    greeks.theta.push_back(-s * density(d1) * v / (2 * std::sqrt(t)) - sign * r * discounted * cumulative(sign * d2));
    greeks.rho.push_back(sign * discounted * t * cumulative(sign * d2));
  }
  return greeks;
}

// The largest difference, relative to what is expected where that is large.
double error(const std::vector<double>& found, const std::vector<double>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    worst = std::fmax(worst, std::fabs(found[i] - expected[i]) / std::fmax(1, std::fabs(expected[i])));
  }
  return worst;
}

bool compare(const char* name, const std::vector<double>& found, const std::vector<double>& expected, double bound) {
  double worst = error(found, expected);
  bool is_right = worst < bound;
  std::printf("  %-6s %12.6f   %s\n", name, found[0], is_right ? "as the closed form" : "WRONG");
  if (!is_right) std::printf("         largest error %g\n", worst);
  return is_right;
}

int main() {
  Options options;
  for (int i = 0; i < 300; ++i) {
    options.spot.push_back(100 + i % 7 * 5);
    options.strike.push_back(75 + (i + 5) % 11 * 5);
    options.years.push_back(0.25 + i % 5 * 0.5);
    options.volatility.push_back(0.15 + i % 3 * 0.1);
    options.interest.push_back(0.01 + i % 4 * 0.02);
  }
  bool is_right = true;
  for (Kind kind : {Call, Put}) {
    Greeks found = all_greeks(options, kind), expected = closed_forms(options, kind);
    std::printf("%zu %s, of the first:\n", options.spot.size(), kind == Call ? "calls" : "puts");
    is_right &= compare("price", found.price, expected.price, 1e-12);
    is_right &= compare("delta", found.delta, expected.delta, 1e-12);
    is_right &= compare("gamma", found.gamma, expected.gamma, 1e-6);
    is_right &= compare("vega", found.vega, expected.vega, 1e-12);
    is_right &= compare("theta", found.theta, expected.theta, 1e-12);
    is_right &= compare("rho", found.rho, expected.rho, 1e-12);
  }
  return is_right ? 0 : 1;
}
