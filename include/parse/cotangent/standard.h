// The part of the standard library that a CUDA program has without asking,
// because nvcc's own umbrella header includes it.
//
// The special functions of C++17 are left out: they make up most of <cmath>,
// and with it most of what Clang would have to read and dump for every file.
// A program that includes <cmath> or <math.h> itself gets them (see the header
// `cmath` beside this folder).
#pragma once

#include <stdlib.h>
#include <string.h>
#include <time.h>

#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#pragma push_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <cmath>
#include <math.h>
#pragma pop_macro("_GLIBCXX_USE_STD_SPEC_FUNCS")
#include <bits/stl_algobase.h>
#else
#include <algorithm>
#include <cmath>
#include <math.h>
#endif

#include <limits>
#include <utility>

// The device's own, beside the host's in <time.h>.
extern "C" __device__ clock_t clock();
