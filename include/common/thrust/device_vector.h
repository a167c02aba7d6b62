// Thrust's name of this header.
#pragma once

#include "cotangent/thrust/vectors.h"
