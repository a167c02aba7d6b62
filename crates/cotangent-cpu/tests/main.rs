//! The tests of the executor that need no compiled program, as one program: linking each by itself took most of a build.

mod abi;
mod checked_kernel;
mod late;
mod late_failure;
