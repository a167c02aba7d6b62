// Runs the gradient of `burgers` and prints what it gave, to the last bit.
#include "derivative.cu"
#include "said.hpp"

int main(int argc, char** argv) {
  const int n = std::atoi(argv[1]);
  const int steps = std::atoi(argv[2]);
  const std::vector<float> start = waves(n);
  std::vector<float> end(n), d_start(n), d_end(n, 1.0f);
  float d_step = 0, d_viscosity = 0;
  burgers_grad(start.data(), end.data(), 0.1f, 0.2f, n, steps, d_start.data(), d_end.data(), &d_step, &d_viscosity);
  say({&end, &d_start, &d_end}, d_step + d_viscosity);
}
