// Atomic functions as of compute capability 2.0: the umbrella header has those of all.
#pragma once

#include "cuda_runtime.h"
