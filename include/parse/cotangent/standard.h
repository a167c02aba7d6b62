// The part of the standard library that a CUDA program has without asking,
// because nvcc's own umbrella header includes it.
//
// It makes a dump of over 50 MB for every file, and few programs use a name of
// it without including the header themselves. So Clang first reads a program
// without this file, and only if that fails with it: the driver then defines
// COTANGENT_WHOLE_LIBRARY. Whatever parses without it must mean the same with
// it, which is why nothing of <math.h> or <stdlib.h> may be declared in its
// stead: without C++'s overloads, `abs(-2.5f)` would silently be C's.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <utility>
