//! What a kernel has to do that something other than compiled code runs, and the shape of any kernel's launch.

use crate::abi::Dim;
use crate::check::Checker;
use crate::failure::Failure;

/// A kernel with its arguments that something other than compiled code runs.
pub trait Kernel: Send + Sync {
    /// The name as the user writes it, for messages.
    fn name(&self) -> &str;

    /// Bytes of shared memory that the kernel has whatever the launch asks for.
    fn static_shared(&self) -> usize;

    /// Runs one block to its end, on this OS thread. Several blocks may run at a time, on other OS threads, but not with
    /// a checker: then a kernel calls `begin_block`, `begin_thread`, `access`, `barrier`, `warp_sync` and `end_block` on it.
    fn run_block(
        &self,
        shape: &Shape,
        index: Dim,
        seed: u64,
        checker: Option<&mut Checker>,
    ) -> Result<(), Box<Failure>>;
}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub grid: Dim,
    pub block: Dim,
    /// Dynamic shared memory.
    pub shared_bytes: u64,
}
