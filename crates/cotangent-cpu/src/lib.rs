//! Runs CUDA kernels on the CPU.
