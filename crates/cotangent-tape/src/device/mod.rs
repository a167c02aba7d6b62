//! Staging: arrays of a device's memory go to a lane and come back, through a fixed amount of pinned host memory.
//!
//! ```text
//!   the caller's stream    ... kernels ...  | push |  ... kernels ...            | pop |  ...
//!   the staging's stream                      copy copy copy                      copy copy copy
//!   pinned chunks                             full, moved on when others are needed
//!   lane                                      what the chunks have no room for, then disk
//! ```
//!
//! [`Driver`] is all that is asked of a device. [`Cuda`] is it over CUDA's runtime, the program's own or a libcudart that
//! is loaded; the tests have one that ends copies in any order.

mod cuda;
mod lane;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::ptr::NonNull;

pub use cuda::{Cuda, CudaFunctions};
pub use lane::{DeviceLane, StagingOptions};

/// The number that a device's runtime gave for what failed; CUDA's `cudaError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceError(pub i32);

/// A stream of the caller's; CUDA's `cudaStream_t`. Null is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub *mut c_void);

/// Which way a chunk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    FromDevice,
    ToDevice,
}

/// A piece of pinned memory. Whoever has it may touch the memory, nobody else does.
#[derive(Debug)]
pub struct Chunk {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a chunk is plain memory with one owner.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The first `bytes` of it.
    fn data(&mut self, bytes: usize) -> &mut [u8] {
        assert!(bytes <= self.bytes);
        // SAFETY: the memory is so long, was zero at first, and this is its owner.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), bytes) }
    }
}

/// A copy on its way. The driver owns its chunk meanwhile.
#[derive(Debug)]
pub struct Copy {
    pub chunk: Chunk,
    /// Where on the device.
    pub device: *mut u8,
    /// How many bytes, at most a chunk.
    pub bytes: usize,
    pub direction: Direction,
    /// Counts the pieces that were pushed; only for its lane.
    number: u64,
}

// SAFETY: the address is the device's, and is not followed on the host.
unsafe impl Send for Copy {}

/// A device, as far as staging needs it. Copies run beside each other and beside the caller's streams, save for what
/// [`follow`](Driver::follow) and [`lead`](Driver::lead) say.
pub trait Driver: Send {
    /// Pinned host memory, asked for once. All of it must be zero or otherwise initialised.
    fn allocate(&mut self, bytes: usize) -> Result<NonNull<u8>, DeviceError>;
    /// Takes it back.
    ///
    /// # Safety
    /// `memory` came from `allocate`, and no copy is under way.
    unsafe fn free(&mut self, memory: NonNull<u8>);
    /// Copies started from now on begin after all that `stream` was given so far.
    fn follow(&mut self, stream: Stream) -> Result<(), DeviceError>;
    /// What `stream` is given from now on begins after all copies started so far.
    fn lead(&mut self, stream: Stream) -> Result<(), DeviceError>;
    /// Begins a copy. What fails at once is told by `finish`.
    ///
    /// # Safety
    /// `device` leads to so many bytes of the device's memory, until the copy has ended.
    unsafe fn start(&mut self, copy: Copy);
    /// A copy that has ended. Without `wait`, or if none is under way, `None`.
    fn finish(&mut self, wait: bool) -> Option<(Copy, Result<(), DeviceError>)>;
}
