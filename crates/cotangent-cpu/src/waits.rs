//! How often the host has waited: for the whole device, and for a stream, an event or a copy. A program that waits where it
//! need not is as right as another and slower on a GPU; here it can be counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// Waits of the host since the process began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// For all that the device was asked for: `cudaDeviceSynchronize`, `cudaFree`.
    pub device: u64,
    /// For a stream, an event or a copy.
    pub stream: u64,
}

static DEVICE: AtomicU64 = AtomicU64::new(0);
static STREAM: AtomicU64 = AtomicU64::new(0);

/// What was counted so far.
pub fn waits() -> Waits {
    Waits { device: DEVICE.load(Ordering::Relaxed), stream: STREAM.load(Ordering::Relaxed) }
}

pub(crate) fn count_device() {
    DEVICE.fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn count_stream() {
    STREAM.fetch_add(1, Ordering::Relaxed);
}
