// Atomic functions as of compute capability 3.2: the umbrella header has those of all.
#pragma once

#include "cuda_runtime.h"
