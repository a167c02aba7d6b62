// The device functions, under CUDA's older name: the umbrella header has them.
#pragma once

#include "cuda_runtime.h"
