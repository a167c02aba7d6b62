// The double-precision intrinsics: the umbrella header has them.
#pragma once

#include "cuda_runtime.h"
