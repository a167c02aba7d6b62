// Compares the CPU's math functions with the reference values of
// math_reference.tsv, read from the standard input. Prints the largest relative
// error of each function. Fails if one is above 1e-14 in double, or above one
// unit in the last place in float.
#include "host_defines.h"
#include "cotangent/math.hpp"

#include <cfloat>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Arguments = std::vector<double>;

struct Function {
  double (*in_double)(const Arguments&);
  double (*in_float)(const Arguments&);
};

#define UNARY(name)                                                      \
  {#name, {[](const Arguments& a) { return name(a[0]); },                \
           [](const Arguments& a) -> double { return name##f(float(a[0])); }}}
#define BINARY(name)                                                     \
  {#name, {[](const Arguments& a) { return name(a[0], a[1]); },          \
           [](const Arguments& a) -> double { return name##f(float(a[0]), float(a[1])); }}}
#define TERNARY(name)                                                    \
  {#name, {[](const Arguments& a) { return name(a[0], a[1], a[2]); },    \
           [](const Arguments& a) -> double { return name##f(float(a[0]), float(a[1]), float(a[2])); }}}
#define QUATERNARY(name)                                                 \
  {#name, {[](const Arguments& a) { return name(a[0], a[1], a[2], a[3]); }, \
           [](const Arguments& a) -> double {                            \
             return name##f(float(a[0]), float(a[1]), float(a[2]), float(a[3])); \
           }}}

const std::map<std::string, Function> functions = {
    UNARY(erfcx),   UNARY(normcdf),       UNARY(normcdfinv),    UNARY(erfinv),
    UNARY(erfcinv), UNARY(cyl_bessel_i0), UNARY(cyl_bessel_i1), UNARY(rcbrt),
    UNARY(rsqrt),   UNARY(sinpi),         UNARY(cospi),         BINARY(rhypot),
    TERNARY(norm3d), TERNARY(rnorm3d),    QUATERNARY(norm4d),   QUATERNARY(rnorm4d),
};

double relative_error(double value, double expected) { return std::fabs(value - expected) / std::fabs(expected); }

struct Largest {
  double in_double = 0;
  double in_float = 0;
  int rows = 0;
};

}  // namespace

int main() {
  std::map<std::string, Largest> largest;
  bool failed = false;
  char line[512];
  while (std::fgets(line, sizeof(line), stdin)) {
    std::istringstream words(line);
    std::string name;
    std::string expected_digits;
    words >> name >> expected_digits;
    Arguments arguments;
    for (std::string word; words >> word;) arguments.push_back(std::strtod(word.c_str(), nullptr));
    double expected = std::strtod(expected_digits.c_str(), nullptr);
    const Function& function = functions.at(name);
    Largest& sofar = largest[name];
    ++sofar.rows;
    double error = relative_error(function.in_double(arguments), expected);
    if (!(error <= 1e-14)) {
      std::printf("%s: relative error %g at %s", name.c_str(), error, line);
      failed = true;
    }
    sofar.in_double = std::max(sofar.in_double, error);
    // The float form is tested against the double form, at arguments rounded to float.
    Arguments rounded;
    for (double argument : arguments) rounded.push_back(float(argument));
    double wide = function.in_double(rounded);
    if (std::fabs(wide) < FLT_MAX && std::fabs(wide) > FLT_MIN) {
      double float_error = relative_error(function.in_float(arguments), wide);
      if (!(float_error <= 1.0001 * FLT_EPSILON)) {
        std::printf("%sf: relative error %g at %s", name.c_str(), float_error, line);
        failed = true;
      }
      sofar.in_float = std::max(sofar.in_float, float_error);
    }
  }
  for (const auto& entry : functions) {
    const Largest& errors = largest[entry.first];
    std::printf("%-14s %4d rows, %.1e in double, %.1e in float\n", entry.first.c_str(), errors.rows,
                errors.in_double, errors.in_float);
    failed |= errors.rows == 0;
  }
  return failed ? 1 : 0;
}
