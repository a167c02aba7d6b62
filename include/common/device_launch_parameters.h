// threadIdx and its like: the umbrella header declares them.
#pragma once

#include "cuda_runtime.h"
