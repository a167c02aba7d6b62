// The gradient of a sum over paths of a stochastic process with respect to its start, drift and volatility, by hand: each
// thread has a lane of its own, and one record a step.
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include <cotangent/tape.hpp>

namespace tape = cotangent::tape;

struct Parameters {
  double start, drift, volatility;
};

struct Step {
  double x, noise;
};

// Numbers between -1 and 1 that are the same in every run.
static double noise(unsigned& state) {
  state = state * 1664525u + 1013904223u;
  return static_cast<int>(state) / 2147483648.0;
}

const int steps = 1000;
const double h = 1.0 / steps;

static double path(const Parameters& p, unsigned seed) {
  double x = p.start;
  for (int i = 0; i < steps; ++i) x += h * p.drift * x + std::sqrt(h) * p.volatility * std::sin(x) * noise(seed);
  return x;
}

static void path_pullback(const Parameters& p, unsigned seed, tape::Lane& lane, Parameters& d) {
  tape::Cursor cursor(lane);
  double x = p.start;
  for (int i = 0; i < steps; ++i) {
    const Step now = {x, noise(seed)};
    cursor.push(now);
    x += h * p.drift * now.x + std::sqrt(h) * p.volatility * std::sin(now.x) * now.noise;
  }
  double d_x = 1;
  for (int i = steps; i-- > 0;) {
    const Step now = cursor.pop<Step>();
    d.drift += d_x * h * now.x;
    d.volatility += d_x * std::sqrt(h) * std::sin(now.x) * now.noise;
    d_x *= 1 + h * p.drift + std::sqrt(h) * p.volatility * std::cos(now.x) * now.noise;
  }
  d.start += d_x;
}

int main() {
  const Parameters p = {1.0, 0.05, 0.2};
  const unsigned paths = 1000;
  const unsigned threads = 2;
  tape::Tape shared;
  std::vector<Parameters> partial(threads, Parameters{});
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      tape::Lane lane(shared);
      for (unsigned seed = t; seed < paths; seed += threads) path_pullback(p, seed, lane, partial[t]);
      lane.check();
    });
  }
  for (std::thread& worker : workers) worker.join();
  Parameters d = {};
  for (const Parameters& each : partial) {
    d.start += each.start;
    d.drift += each.drift;
    d.volatility += each.volatility;
  }

  // Against central differences.
  const auto sum = [&](const Parameters& at) {
    double total = 0;
    for (unsigned seed = 0; seed < paths; ++seed) total += path(at, seed);
    return total;
  };
  const double e = 1e-6;
  const double differences[] = {
      (sum({p.start + e, p.drift, p.volatility}) - sum({p.start - e, p.drift, p.volatility})) / (2 * e),
      (sum({p.start, p.drift + e, p.volatility}) - sum({p.start, p.drift - e, p.volatility})) / (2 * e),
      (sum({p.start, p.drift, p.volatility + e}) - sum({p.start, p.drift, p.volatility - e})) / (2 * e),
  };
  const double gradient[] = {d.start, d.drift, d.volatility};
  const char* names[] = {"start", "drift", "volatility"};
  bool agrees = true;
  for (int i = 0; i < 3; ++i) {
    std::printf("%-10s %10.4f, by differences %10.4f\n", names[i], gradient[i], differences[i]);
    agrees = agrees && std::fabs(gradient[i] - differences[i]) < 1e-5 * (1 + std::fabs(gradient[i]));
  }
  return agrees ? 0 : 1;
}
