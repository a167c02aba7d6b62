//! The tests of the tape, as one program: linking each by itself took most of a build.

mod budget;
mod c_and_cpp;
mod model;
mod model_support;
mod overlap;
mod process;
