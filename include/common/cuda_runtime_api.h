// The runtime API under its own name; we make no difference to the umbrella header.
#pragma once

#include "cuda_runtime.h"
