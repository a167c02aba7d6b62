// Runs the gradient of `solve` and prints what it gave, to the last bit, and after how many iterations it ended.
#include "derivative.cu"
#include "said.hpp"

int main(int argc, char** argv) {
  const int n = std::atoi(argv[1]);
  const float tolerance = std::atof(argv[2]);
  std::vector<float> stiffness(n), load = waves(n), x(n), d_stiffness(n), d_load(n), d_x(n, 1.0f);
  for (int i = 0; i < n; ++i) stiffness[i] = 0.001f + 0.01f * (i % 17);
  int iterations = 0;
  solve_grad_0_1_2(stiffness.data(), load.data(), x.data(), &iterations, tolerance, n, d_stiffness.data(), d_load.data(),
                   d_x.data());
  std::printf("iterations %d\n", iterations);
  say({&x, &d_stiffness, &d_load, &d_x}, 0.0f);
}
