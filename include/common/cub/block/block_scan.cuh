// CUB's name of this header.
#pragma once

#include "cotangent/cub/block_scan.cuh"
