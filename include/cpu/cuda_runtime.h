// The umbrella header for running a CUDA program on the CPU as plain C++. nvcc
// includes cuda_runtime.h before the first line of every program, and so do we.
#pragma once

#include <stdio.h>

#include "cotangent/guards.h"
#include "host_defines.h"
#include "builtin_types.h"
#include "cotangent/cpu.hpp"
#include "cotangent/math.hpp"
#include "cotangent/memory.hpp"
#include "cotangent/runtime_api.hpp"
#include "library_types.h"
#include "vector_functions.h"
