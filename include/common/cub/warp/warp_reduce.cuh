// CUB's name of this header.
#pragma once

#include "cotangent/cub/warp_reduce.cuh"
