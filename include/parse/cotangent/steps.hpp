// Loops that are run again from checkpoints, for parsing: declarations of what include/cotangent/steps.hpp defines.
#pragma once

#include <cotangent/budget.hpp>
#include <cotangent/runtime.hpp>

namespace cotangent {

class Steps {};
void keep_array(Steps& steps, const void* array, size_t bytes);
template <class... Others>
void keep_stated(Steps& steps, const void* array, size_t bytes, Others... others);
template <class... Others>
void keep_allocation(Steps& steps, const void* array, Others... others);
template <class T>
void keep_value(Steps& steps, T* value);
void begin_steps(Steps& steps, long count, bool has_streams, bool is_last_kept, bool is_exact);
void begin_step(Steps& steps, long number);
template <class T>
void note(Steps& steps, T* value);
template <class T>
void recall(Steps& steps, T* value);
void end_steps(Steps& steps);
long restore_step(Steps& steps, long number);
void finish_steps(Steps& steps);

}  // namespace cotangent
