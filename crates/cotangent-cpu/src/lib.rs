//! Runs CUDA kernels on the CPU.

pub mod check;
