// The runtime API for device code. Launches from a kernel are not supported; the types are in the umbrella header.
#pragma once

#include "cuda_runtime.h"
