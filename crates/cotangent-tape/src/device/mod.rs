//! Staging: arrays of a device's memory go to the layers below them and come back.
//!
//! ```text
//!   the caller's stream    ... kernels ...  | push |  ... kernels ...            | pop |  ...
//!   chunks on the device                      the newest pieces                    fetched ahead of the pop
//!   pinned chunks                             older ones, over the bus ahead of the need
//!   lane                                      what the chunks have no room for, then disk
//! ```
//!
//! The caller's stream waits for a copy within the device, not for the bus. [`Driver`] is all that is asked of a device.
//! [`Cuda`] is it over CUDA's runtime, the program's own or a libcudart that is loaded; the tests have one that ends copies
//! in any order.

mod cuda;
mod lane;
mod layers;
#[cfg(test)]
mod model;
#[cfg(test)]
mod simulated;
#[cfg(test)]
mod tests;

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

pub use cuda::{Cuda, CudaFunctions};
pub use lane::{DeviceLane, Reread};
pub use layers::{DeviceStats, StagingOptions};

/// The number that a device's runtime gave for what failed; CUDA's `cudaError_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceError(pub i32);

impl DeviceError {
    /// There is no such memory left, and nothing else is wrong: `cudaErrorMemoryAllocation`.
    pub const OUT_OF_MEMORY: DeviceError = DeviceError(2);
}

/// A stream of the caller's; CUDA's `cudaStream_t`. Null is the default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub *mut c_void);

/// Where a chunk lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// On the device: an address that the host does not follow.
    Device,
    /// Host memory that the device can read and write.
    Pinned,
}

/// A chunk of either memory. Whoever owns it may write to it; who shares it only reads.
#[derive(Debug)]
pub struct Chunk {
    memory: Memory,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a chunk is plain memory, which is written to by its only owner.
unsafe impl Send for Chunk {}
// SAFETY: as above.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Where it begins.
    pub fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Where it lies.
    pub fn memory(&self) -> Memory {
        self.memory
    }

    /// The first `bytes` of a pinned one.
    fn data(&self, bytes: usize) -> &[u8] {
        assert!(self.memory == Memory::Pinned && bytes <= self.bytes);
        // SAFETY: the memory is so long, was initialised at first, and nobody writes to it while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), bytes) }
    }

    /// As `data`, to be written to.
    fn data_mut(&mut self, bytes: usize) -> &mut [u8] {
        assert!(self.memory == Memory::Pinned && bytes <= self.bytes);
        // SAFETY: the memory is so long, was initialised at first, and this is its only owner.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), bytes) }
    }
}

/// What is copied from.
#[derive(Debug)]
pub enum Source {
    /// A place in an array of the caller's, on the device.
    Array(*const u8),
    /// Others may read it meanwhile.
    Chunk(Arc<Chunk>),
}

/// What is copied to.
#[derive(Debug)]
pub enum Target {
    /// A place in an array of the caller's, on the device.
    Array(*mut u8),
    Chunk(Chunk),
}

/// A copy on its way. The driver owns the chunk that is written to, and keeps the other alive.
#[derive(Debug)]
pub struct Copy {
    pub from: Source,
    pub to: Target,
    /// How many bytes, at most a chunk.
    pub bytes: usize,
    /// Which piece of its lane it is; only for the lane.
    piece: u64,
}

// SAFETY: the addresses are the device's, and are not followed on the host.
unsafe impl Send for Copy {}

impl Copy {
    /// Whether an array of the caller's is read or written, so that the caller's streams have to do with it.
    pub fn is_of_array(&self) -> bool {
        matches!(self.from, Source::Array(_)) || matches!(self.to, Target::Array(_))
    }

    /// Where it reads: an address and a memory. Arrays are on the device.
    pub fn source(&self) -> (*const u8, Memory) {
        match &self.from {
            Source::Array(array) => (*array, Memory::Device),
            Source::Chunk(chunk) => (chunk.start().cast_const(), chunk.memory),
        }
    }

    /// Where it writes.
    pub fn target(&self) -> (*mut u8, Memory) {
        match &self.to {
            Target::Array(array) => (*array, Memory::Device),
            Target::Chunk(chunk) => (chunk.start(), chunk.memory),
        }
    }
}

/// A device, as far as staging needs it. Copies run beside each other and beside the caller's streams, save for what
/// [`follow`](Driver::follow) and [`lead`](Driver::lead) say of the copies of arrays.
pub trait Driver: Send {
    /// Memory of either kind, each asked for once. Pinned memory must be zero or otherwise initialised.
    /// [`DeviceError::OUT_OF_MEMORY`] means that this memory is used up, and that the driver can go on without it.
    fn allocate(&mut self, memory: Memory, bytes: usize) -> Result<NonNull<u8>, DeviceError>;
    /// Takes it back.
    ///
    /// # Safety
    /// `start` came from `allocate` of this memory, and no copy is under way.
    unsafe fn free(&mut self, memory: Memory, start: NonNull<u8>);
    /// Copies of arrays started from now on begin after all that `stream` was given so far.
    fn follow(&mut self, stream: Stream) -> Result<(), DeviceError>;
    /// What `stream` is given from now on begins after all copies of arrays started so far.
    fn lead(&mut self, stream: Stream) -> Result<(), DeviceError>;
    /// Begins a copy. What fails at once is told by `finish`.
    ///
    /// # Safety
    /// An array that it names has so many bytes of the device's memory, until the copy has ended.
    unsafe fn start(&mut self, copy: Copy);
    /// A copy that has ended. Without `wait`, or if none is under way, `None`.
    fn finish(&mut self, wait: bool) -> Option<(Copy, Result<(), DeviceError>)>;
}
