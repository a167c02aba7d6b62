//! Finds and runs clang, nvcc and ptxas; reads and writes files. The compiler crate is pure; all that touches the
//! machine is here, and the command and the tests call it.

mod advice;
mod alignment;
mod brackets;
pub mod cc;
pub mod compile;
pub mod cudart;
pub mod database;
pub mod derivative;
pub mod device_code;
pub mod device_part;
pub mod device_text;
pub mod environment;
pub mod error;
pub mod flags;
pub mod headers;
mod kept;
mod leading;
pub mod nvcc;
pub mod output;
pub mod own_files;
pub mod parse;
mod precompiled;
mod printed_kernels;
mod process;
pub mod program;
mod reading;
pub mod requests;
mod source_text;
pub mod tape;
mod together;
pub mod tools;

pub use environment::Environment;
pub use error::{Blame, DriverError};
pub use process::{ends_with_us, run_within, turn};
pub use tools::Tools;
