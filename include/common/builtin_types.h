// CUDA's name for all types that exist without an include.
#pragma once

#include "driver_types.h"
#include "vector_types.h"
