// Logistic growth in four million steps. How many there are only the loop itself knows, so the gradient keeps a value a
// step: 32 MB, of which 8 may stay in memory and the rest goes to the folder that is named.
//
//   cotangent run records.cu --args FOLDER
#include <cotangent/records.hpp>
#include <cotangent/cotangent.hpp>

#include <cmath>
#include <cstdio>

namespace tape = cotangent::tape;

double grow(double rate, double size) {
  double time = 0.0;
  while (time < 1.0) {
    size += 0x1p-22 * rate * size * (1.0 - size);
    time += 0x1p-22;
  }
  return size;
}

auto grow_gradient = cotangent::gradient(grow, "rate, size");

int main(int argc, char** argv) {
  const double rate = 1.5, begin = 0.25;
  tape::Tape memory(std::size_t(8) << 20, argc > 1 ? argv[1] : nullptr);
  cotangent::tape_of_records() = &memory;
  double d_rate = 0.0, d_size = 0.0;
  try {
    grow_gradient.execute(rate, begin, &d_rate, &d_size);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  // The differential equation is solved by hand.
  const double size = 1.0 / (1.0 + (1.0 / begin - 1.0) * std::exp(-rate));
  const double by_rate = size * (1.0 - size), by_size = by_rate / (begin * (1.0 - begin));
  const double error = std::fmax(std::fabs(d_rate / by_rate - 1.0), std::fabs(d_size / by_size - 1.0));
  std::printf("%zu MiB of memory, off by %s\n", memory.peak_bytes() >> 20, error < 1e-6 ? "less than 1e-6" : "more");
  return error < 1e-6 ? 0 : 1;
}
