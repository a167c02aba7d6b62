//! What Clang has read of a program, as lowering takes it.

use crate::clang::Ast;

/// The two programs that Clang sees in one CUDA file.
///
/// `__CUDA_ARCH__` and overloads on `__host__` and `__device__` make them differ, so device code is taken from one and
/// host code from the other.
#[derive(Clone, Copy)]
pub struct Passes<'a> {
    /// What the device compiles.
    pub device: &'a Ast,
    /// What the host compiles, if host functions are wanted.
    pub host: Option<&'a Ast>,
}
