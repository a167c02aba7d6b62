//! Reads PTX and executes its kernels, block by block. Only the face of it so far: every text is refused.

use std::ffi::c_void;
use std::sync::Arc;

use cotangent_cpu::abi::Dim;
use cotangent_cpu::check::Checker;
use cotangent_cpu::kernel::{Failure, Kernel, Shape};

/// PTX in what nvcc links into a program.
pub mod fatbin {
    use super::c_void;

    /// Why there is no text.
    #[derive(Debug, thiserror::Error)]
    pub enum FatbinError {
        #[error("fat binaries cannot be read yet")]
        NotYet,
    }

    /// The PTX of the newest architecture in a fat binary.
    ///
    /// # Safety
    /// `wrapper` is what a program gave to `__cudaRegisterFatBinary`.
    pub unsafe fn text(_wrapper: *const c_void) -> Result<String, FatbinError> {
        Err(FatbinError::NotYet)
    }
}

/// Why a text cannot be executed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("PTX cannot be executed yet")]
    NotYet,
}

/// In which memory a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSpace {
    Global,
    Constant,
}

/// A variable of a module that needs a place in memory.
pub struct Variable<'a> {
    pub name: &'a str,
    pub bytes: usize,
    pub alignment: usize,
    pub space: VariableSpace,
}

/// One parameter of a kernel.
pub struct Parameter {
    pub offset: usize,
    pub bytes: usize,
}

/// What is known about a kernel before it is launched.
pub struct KernelInfo<'a> {
    pub parameters: &'a [Parameter],
    pub static_shared: usize,
    pub local_bytes: usize,
    pub max_threads: Option<u32>,
}

/// A text that has been read.
pub struct Module;

impl Module {
    /// Reads and decodes a text. `place` gives each variable its memory (zeroed, of that size and alignment, for ever).
    pub fn load(_text: &str, _place: &mut dyn FnMut(&Variable<'_>) -> *mut u8) -> Result<Module, Error> {
        Err(Error::NotYet)
    }

    pub fn kernel(&self, _name: &str) -> Option<KernelInfo<'_>> {
        None
    }

    /// Address and bytes of a variable.
    pub fn variable(&self, _name: &str) -> Option<(usize, usize)> {
        None
    }

    /// A kernel with its arguments, one after another as the offsets of its parameters say.
    pub fn bind(self: &Arc<Module>, _name: &str, _arguments: Vec<u8>) -> Option<Bound> {
        None
    }
}

/// A kernel with its arguments.
pub struct Bound;

impl Kernel for Bound {
    fn name(&self) -> &str {
        "kernel"
    }

    fn static_shared(&self) -> usize {
        0
    }

    fn run_block(&self, _: &Shape, _: Dim, _: u64, _: Option<&mut Checker>) -> Result<(), Box<Failure>> {
        Ok(())
    }
}
