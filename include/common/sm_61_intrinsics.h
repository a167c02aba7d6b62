// Intrinsics as of compute capability 6.1: the umbrella header has those of all.
#pragma once

#include "cuda_runtime.h"
