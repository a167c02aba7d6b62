// The driver API's header. Programs that use the runtime API include it for
// CUDA_VERSION and the basic types, which the umbrella header has; functions of
// the driver API (cu...) are not declared, so that a call to one is an error at
// its place.
#pragma once

#include "cuda_runtime.h"

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef cudaStream_t CUstream;
typedef cudaEvent_t CUevent;
