//! What a lane has cost so far.

use std::time::Duration;

/// Counts since the lane was opened. C has the same, with the time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes that were written to disk, as they are there.
    pub bytes_written: u64,
    /// Bytes fetched from disk.
    pub bytes_read: u64,
    /// Blocks that were there when they were needed.
    pub hits: u64,
    /// Times that the lane had to wait for the disk.
    pub stalls: u64,
    /// How long it waited in all.
    pub stalled: Duration,
    /// Bytes that compression kept from being written.
    pub bytes_saved: u64,
    /// How often compression was given up because it did not pay. It is tried again now and then.
    pub times_given_up: u64,
}
