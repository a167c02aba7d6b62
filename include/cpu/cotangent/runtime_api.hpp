// The CUDA runtime API on the CPU, as inline functions over the runtime's table.
//
// Work is done when it is asked for, so the Async forms are the plain ones and a stream is only a
// name. Calls that allocate, free, copy or fill pass on where they stand, for the checks.
#pragma once

#include "cotangent/runtime_memory.hpp"
#include "cotangent/runtime_device.hpp"
#include "cotangent/runtime_function.hpp"
#include "cotangent/textures.hpp"
