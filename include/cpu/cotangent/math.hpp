// CUDA's math library on the CPU: everything that <cmath> does not have.
//
// The C library is used where it has the function. All else is computed in
// double precision, the single-precision forms included, which are rounded
// once at the end. No function depends on the compiler's choice of
// instructions, so a program gives the same bits each time it runs.
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cotangent/math/convert.hpp"
#include "cotangent/math/elementary.hpp"
#include "cotangent/math/integer.hpp"
#include "cotangent/math/min_max.hpp"
#include "cotangent/math/names.hpp"
#include "cotangent/math/packed.hpp"
#include "cotangent/math/rounded.hpp"
#include "cotangent/math/special.hpp"
