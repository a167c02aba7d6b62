// What a CUDA program needs to run on the CPU, apart from the runtime API and the math functions:
// builtin variables, launches, barriers, warp functions and atomics.
#pragma once

#include "cotangent/thread.hpp"
#include "cotangent/launch.hpp"
#include "cotangent/printed.hpp"
#include "cotangent/collective.hpp"
#include "cotangent/atomic.hpp"
