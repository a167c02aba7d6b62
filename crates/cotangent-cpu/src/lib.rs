//! Runs CUDA programs on the CPU, with CUDA's semantics.
//!
//! A program is compiled as C++ against `include/cpu` into a shared object. [`run_program`] loads
//! it, gives it the functions of [`abi`] (`table`), and calls its `main`. From there the program
//! calls back: kernels are launched (`launch`), blocks are spread over OS threads, and the threads
//! of a block run as coroutines where they wait for each other (`block`, `warp`).
//!
//! ```text
//!   cudaMalloc, cudaMemcpy, …  ->  memory, event, device, error
//!   kernel<<<grid, block>>>    ->  launch -> block -> the kernel, thread by thread
//!   __syncthreads, __shfl_sync ->  in_kernel -> block, warp
//! ```
//!
//! A kernel may also be something else than compiled code: see [`kernel`]. A process that is not started by
//! [`run_program`] calls [`start`] and uses the same table. Kernels that a program of Rust's launches are a [`Library`].
//!
//! In a checked run the program is instrumented: every access, allocation and meeting of threads is
//! told to the checker (`check`) by `checks`, memory comes out of `arena`, and blocks run one after
//! another on the thread that launches.

pub mod abi;
mod arena;
mod block;
pub mod check;
mod checks;
mod demangle;
mod device;
mod error;
mod event;
mod failure;
mod in_kernel;
mod interpreted;
pub mod kernel;
mod launch;
mod library;
mod loader;
mod memory;
mod order;
mod program;
mod queue;
mod report;
mod runtime;
mod stack;
mod table;
mod waits;
mod warp;

pub use checks::{host_access, memory_of_checks};
pub use error::{CudaError, describe_error};
pub use library::{Launch, Library};
pub use loader::{FINDINGS_EXIT_CODE, LoadError, end_with_parent, run_program, start};
pub use memory::{limit_device_memory, memory_at, place_variable, register_host_memory, unregister_host_memory};
pub use order::Random;
pub use runtime::Config;
pub use waits::{Waits, waits};
