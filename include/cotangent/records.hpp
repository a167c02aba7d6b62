// Has derivatives of host code keep their values on the tape library (docs/tape.md), which the program is linked with: in
// the memory that the program allows, and on disk beyond it. To be included before the other headers of Cotangent and before
// printed derivatives; or define COTANGENT_TAPE_LIBRARY for the whole program.
#pragma once

#ifdef COTANGENT_OWN_TAPE
#error "include <cotangent/records.hpp> before the other headers of Cotangent and before printed derivatives"
#endif
#ifndef COTANGENT_TAPE_LIBRARY
#define COTANGENT_TAPE_LIBRARY
#endif

#include <cotangent/tape.hpp>

namespace cotangent {

// The tape that these values go to: all the memory there is, until the program names another, before the first gradient.
//
//   cotangent::tape::Tape tape(std::size_t(8) << 30, "/scratch");
//   cotangent::tape_of_records() = &tape;
inline tape::Tape*& tape_of_records() {
  static tape::Tape unbounded;
  static tape::Tape* tape = &unbounded;
  return tape;
}

}  // namespace cotangent
