// The atomic functions: the umbrella header has them.
#pragma once

#include "cuda_runtime.h"
