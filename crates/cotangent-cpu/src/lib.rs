//! Runs CUDA programs on the CPU, with CUDA's semantics.
//!
//! A program is compiled as C++ against `include/cpu` into a shared object. [`run_program`] loads
//! it, gives it the table of functions of [`abi`], and calls its `main`. From there the program
//! calls back: kernels are launched (`launch`), blocks are spread over OS threads, and the threads
//! of a block run as coroutines where they wait for each other (`block`, `warp`).
//!
//! ```text
//!   cudaMalloc, cudaMemcpy, …  ->  memory, event, device, error
//!   kernel<<<grid, block>>>    ->  launch -> block -> the kernel, thread by thread
//!   __syncthreads, __shfl_sync ->  block, warp
//! ```
//!
//! In a checked run the program is instrumented: every access, allocation and meeting of threads is
//! told to the checker (`check`) by `checks`, memory comes out of `arena`, and blocks run one after
//! another on the thread that launches.

pub mod abi;
mod arena;
mod block;
pub mod check;
mod checks;
mod device;
mod error;
mod event;
mod failure;
mod launch;
mod loader;
mod memory;
mod order;
mod program;
mod report;
mod runtime;
mod stack;
mod warp;

pub use error::{CudaError, describe_error};
pub use loader::{FINDINGS_EXIT_CODE, LoadError, end_with_parent, run_program};
pub use runtime::Config;
