// Intrinsics as of compute capability 6.0: the umbrella header has those of all.
#pragma once

#include "cuda_runtime.h"
