//! Reads PTX out of programs that nvcc linked, and executes it on the CPU.
//!
//! ```text
//!   fatbin    what nvcc put into the program  -> text
//!   syntax    text                            -> tree of directives and instructions, names as they are written
//!   decode    tree                            -> program: registers are numbers, labels positions, symbols addresses
//!   layout    program, a kernel               -> where its variables lie in shared memory
//!   exec      program, arguments              -> runs one block, each thread with its own position
//!   bound     a kernel with its arguments, as cotangent-cpu launches it
//!   module    what others see: load, look up, bind arguments
//! ```
//!
//! The CUDA runtime that such a program calls is `cotangent-cudart`; memory, streams and checks are those of
//! `cotangent-cpu`, which runs the blocks of a launch through [`cotangent_cpu::kernel::Kernel`].

mod bound;
mod decode;
mod exec;
pub mod fatbin;
mod layout;
mod module;
mod program;
mod syntax;
mod variable;

pub use bound::Bound;
pub use module::{KernelInfo, Module, Parameter};
pub use syntax::SyntaxError;
pub use variable::{Variable, VariableSpace};
