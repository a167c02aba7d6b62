//! What the executor tells the checker, and what it is answered, as data.

use std::ops::Range;

use super::site::Site;

/// In which memory an allocation or a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// `cudaMalloc` and `__device__`: the host may not touch it.
    Device,
    /// `__constant__`: the host may not touch it, a kernel may not write it.
    Constant,
    /// `cudaMallocManaged` and `__managed__`: both may touch it.
    Managed,
    /// `cudaMallocHost` and `cudaHostAlloc`: both may touch it.
    Pinned,
}

/// One access to memory.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub address: usize,
    /// In bytes; an access of no bytes is nothing.
    pub size: usize,
    pub kind: AccessKind,
    /// What the address must be a multiple of, a power of two: the size for the aligned callbacks, 1 for unaligned ones and
    /// for `memset`, where the compiler itself takes care.
    pub alignment: usize,
    pub site: Site,
}

/// What an access does. A read that is followed by a write of the same bytes is two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    Read,
    Write,
    /// Any atomic operation, atomic loads and stores included.
    Atomic,
    /// A read through the read-only cache (`ld.global.nc`): whatever writes the memory in the same launch, in any order, is
    /// wrong.
    CachedRead,
}

impl AccessKind {
    pub(crate) fn is_read(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::CachedRead)
    }
}

/// One `memcpy` or `memmove` of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub destination: usize,
    pub source: usize,
    pub size: usize,
    pub site: Site,
}

/// Whether an access may be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    Continue,
    /// A GPU would stop the launch here, and the access may crash the process: the executor ends the launch
    /// with an error (or the program, on the host). A finding has been recorded.
    Fatal,
}

/// Which side of a `cudaMemcpy` or `cudaMemset` an address is meant to be on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Host,
    Device,
}

/// The shared memory of a block.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory {
    /// The `__shared__` variables: the thread-local segment of the program on the running thread.
    pub static_range: Range<usize>,
    /// The dynamic shared memory, of the size that the launch asked for.
    pub dynamic_range: Range<usize>,
    /// The size of the buffer from the start of `dynamic_range`; what lies beyond the launch's size is out of
    /// bounds.
    pub dynamic_capacity: usize,
}
