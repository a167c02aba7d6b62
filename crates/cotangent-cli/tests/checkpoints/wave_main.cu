// Runs the gradient of `wave` and prints what it gave, to the last bit. With a third argument no file may be larger than that.
#include "derivative.cu"
#include "said.hpp"

#include <sys/resource.h>

int main(int argc, char** argv) {
  const int n = std::atoi(argv[1]);
  const int steps = std::atoi(argv[2]);
  if (argc > 3) {
    const rlimit limit = {std::strtoul(argv[3], nullptr, 10), RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
  }
  const std::vector<float> start = waves(n), stiffness(n, 0.5f);
  std::vector<float> end(n), d_start(n), d_stiffness(n), d_end(n, 1.0f);
  float d_step = 0;
  wave_grad(start.data(), stiffness.data(), end.data(), 0.1f, n, steps, d_start.data(), d_stiffness.data(), d_end.data(),
            &d_step);
  say({&end, &d_start, &d_stiffness, &d_end}, d_step);
}
