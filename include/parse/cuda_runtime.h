// The umbrella header for parsing CUDA without a toolkit. nvcc includes
// cuda_runtime.h before the first line of every program, and so do we.
//
// The order matters: the first group gives device code its own malloc, printf
// and math functions, and only then may C++ headers follow.
#pragma once

#include "cotangent/guards.h"
#include "host_defines.h"
#include "cotangent/system.h"
#include "cotangent/math.h"

#ifdef COTANGENT_WHOLE_LIBRARY
#include "cotangent/standard.h"
#endif

#include "builtin_types.h"
#include "cotangent/atomics.h"
#include "cotangent/graphs.h"
#include "cotangent/intrinsics_convert.h"
#include "cotangent/intrinsics_float.h"
#include "cotangent/intrinsics_integer.h"
#include "cotangent/math_cuda.h"
#include "cotangent/memory.h"
#include "cotangent/runtime_api.h"
#include "cotangent/textures.h"
#include "cotangent/threads.h"
#include "library_types.h"
#include "vector_functions.h"
