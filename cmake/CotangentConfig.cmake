# Cotangent for CMake: gradients that CUDA files ask for in their own text, and the tape library.
#
#   find_package(Cotangent REQUIRED)
#   cotangent_gradients(my_target)
#   target_link_libraries(my_target PRIVATE cotangent::tape)
#
# CMake finds this file if it is told where it is: cmake -DCotangent_DIR=$(cotangent where cmake) …
# A project that should know nothing of Cotangent needs none of it: cmake -DCMAKE_CUDA_COMPILER_LAUNCHER='cotangent;cc' …

find_program(COTANGENT_COMMAND cotangent
  HINTS "$ENV{CARGO_HOME}/bin" "$ENV{HOME}/.cargo/bin"
  DOC "The cotangent command")
if(NOT COTANGENT_COMMAND)
  set(Cotangent_FOUND FALSE)
  set(Cotangent_NOT_FOUND_MESSAGE
    "The cotangent command was not found. Install it (cargo install --path crates/cotangent-cli in a checkout of Cotangent), or name it: -DCOTANGENT_COMMAND=/path/to/cotangent")
  return()
endif()

# The folder of <cotangent/cotangent.hpp>, which is the command's own: an older copy of this file must not bring another.
execute_process(
  COMMAND "${COTANGENT_COMMAND}" where include
  OUTPUT_VARIABLE Cotangent_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE _cotangent_result)
if(NOT _cotangent_result EQUAL 0)
  set(Cotangent_FOUND FALSE)
  set(Cotangent_NOT_FOUND_MESSAGE "${COTANGENT_COMMAND} does not run: ${_cotangent_result}")
  return()
endif()

# The tape library (docs/tape.md), if it is installed beside the command: cotangent::tape is the shared one, cotangent::tape_static
# the other. Both bring the headers.
execute_process(
  COMMAND "${COTANGENT_COMMAND}" where tape
  OUTPUT_VARIABLE _cotangent_tape OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE _cotangent_result)
if(_cotangent_result EQUAL 0 AND NOT TARGET cotangent::tape)
  add_library(cotangent::tape SHARED IMPORTED)
  set_target_properties(cotangent::tape PROPERTIES
    IMPORTED_LOCATION "${_cotangent_tape}/libcotangent_tape.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${Cotangent_INCLUDE_DIR}")
  if(EXISTS "${_cotangent_tape}/libcotangent_tape.a")
    add_library(cotangent::tape_static STATIC IMPORTED)
    set_target_properties(cotangent::tape_static PROPERTIES
      IMPORTED_LOCATION "${_cotangent_tape}/libcotangent_tape.a"
      INTERFACE_LINK_LIBRARIES "pthread;dl;m"
      INTERFACE_INCLUDE_DIRECTORIES "${Cotangent_INCLUDE_DIR}")
  endif()
endif()

# Compiles the CUDA files of a target with the gradients that they ask for. A launcher that the target has already, such as
# ccache, is called for the compiler as before.
function(cotangent_gradients target)
  get_target_property(launcher ${target} CUDA_COMPILER_LAUNCHER)
  if(NOT launcher)
    set(launcher)
  endif()
  set_property(TARGET ${target} PROPERTY CUDA_COMPILER_LAUNCHER ${COTANGENT_COMMAND} cc ${launcher})
  target_include_directories(${target} SYSTEM PRIVATE "${Cotangent_INCLUDE_DIR}")
endfunction()
