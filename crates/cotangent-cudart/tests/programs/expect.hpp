// How the programs of this folder say what is not as it should be.
#pragma once

#include <cstdio>

#define EXPECT(condition)                              \
  do {                                                 \
    if (!(condition)) {                                \
      printf("line %d: %s\n", __LINE__, #condition);   \
      return 1;                                        \
    }                                                  \
  } while (0)
#define OK(call) EXPECT((call) == cudaSuccess)
