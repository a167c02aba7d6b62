//! What a lane tells while it works: once a slab, so that a long sweep can be watched at no cost.

use std::fmt;
use std::sync::Arc;

/// How far a lane has come. The layout is `cotangent_tape_progress` of `include/cotangent/tape.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes on the lane.
    pub bytes: u64,
    /// How many of them are on disk only.
    pub bytes_on_disk: u64,
    /// Which lane of its tape, from zero.
    pub lane: u32,
}

/// Called by the thread that uses the lane.
#[derive(Clone)]
pub(crate) struct Watcher(Arc<dyn Fn(Progress) + Send + Sync>);

impl Watcher {
    pub(crate) fn new(watch: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(watch))
    }

    pub(crate) fn tell(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}
