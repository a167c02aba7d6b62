// cudaProfilerStart and cudaProfilerStop: the umbrella header declares them.
#pragma once

#include "cuda_runtime.h"
