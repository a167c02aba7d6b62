//! The tests of the library, as one program: linking each by itself took most of a build.

mod interface;
mod programs;
mod toolkit;
