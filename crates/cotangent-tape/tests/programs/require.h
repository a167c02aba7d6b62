// What a program of the tests ends with where something is not so.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition)                                             \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)
