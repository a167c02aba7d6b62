// CUB: what a warp or a block does together, and what host code has done with
// whole arrays.
#pragma once

#include "cotangent/cub/block_load.cuh"
#include "cotangent/cub/block_reduce.cuh"
#include "cotangent/cub/block_scan.cuh"
#include "cotangent/cub/device.cuh"
#include "cotangent/cub/operators.cuh"
#include "cotangent/cub/types.cuh"
#include "cotangent/cub/warp_reduce.cuh"
#include "cotangent/cub/warp_scan.cuh"
#include "cub/util_debug.cuh"
#include "cub/util_macro.cuh"
