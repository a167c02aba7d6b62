//! The C interface of CUDA's runtime library, `libcudart.so.13`, for programs that nvcc has linked: no GPU is needed,
//! because their PTX is executed here.
//!
//! ```text
//!   a program linked with -cudart shared  ->  this library, found by LD_LIBRARY_PATH
//!     __cudaRegisterFatBinary, …          ->  registration: which kernel and variable has which host address
//!     cudaMalloc, cudaStreamCreate, …     ->  the table of cotangent-cpu
//!     k<<<…>>>                            ->  launching -> cotangent-ptx's kernel -> cotangent-cpu's launch
//! ```
//!
//! Nothing is decided here: arguments are taken as C gives them and handed on. Work is late ([`cotangent_cpu::Config`]),
//! unless the run is checked. The environment configures it: `COTANGENT_CUDART_SEED`, `COTANGENT_CUDART_THREADS`,
//! `COTANGENT_CUDART_CHECK=1`.
//!
//! # Safety
//!
//! All functions have the contract of CUDA's documentation: pointers and handles are the caller's, and valid as CUDA
//! requires. `SAFETY: CUDA's contract` means that.

#![allow(non_snake_case, reason = "the exported names are CUDA's")]

mod device;
mod driver;
mod errors;
mod functions;
mod instrumentation;
mod launching;
mod memory;
mod per_thread;
mod places;
mod registration;
mod runtime;
mod streams;
mod stubs;
mod symbols;
pub mod types;
mod volumes;
