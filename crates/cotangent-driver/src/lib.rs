//! Finds and runs clang, nvcc and ptxas; reads and writes files.
