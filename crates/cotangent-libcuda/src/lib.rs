//! The C interface of CUDA's driver library, `libcuda.so.1`, for programs that load PTX themselves, as those of Rust do through cudarc: no
//! GPU is needed, because the PTX is executed here.
//!
//! ```text
//!   cuModuleLoadData, cuLaunchKernel  ->  modules -> cotangent-ptx's kernel -> cotangent-cpu's launch
//!   cuMemAlloc, cuStreamCreate, …     ->  the table of cotangent-cpu
//! ```
//!
//! It has what cudarc calls for memory, streams, events and kernels. Whoever calls something else is told its name by the loader. As in
//! `cotangent-cudart`, nothing is decided here, and work is late.
//!
//! # Safety
//!
//! All functions have the contract of CUDA's documentation: pointers and handles are the caller's, and valid as CUDA requires.
//! `SAFETY: CUDA's contract` means that.

#![allow(non_snake_case, reason = "the exported names are CUDA's")]

mod context;
mod memory;
mod modules;
mod runtime;
mod streams;
