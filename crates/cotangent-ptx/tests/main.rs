//! The tests of the interpreter, as one program: linking each by itself took most of a build.

mod kernels;
mod mutated;
