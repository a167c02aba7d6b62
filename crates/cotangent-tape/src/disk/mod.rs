//! Slabs on disk. A lane has a file of its own in which block `i` lies at `i` times the size of a slab; the file has no
//! name, so that nothing is left of it however the process ends.
//!
//! ```text
//!   transfers   whole slabs, each sealed: retries what was interrupted or short
//!   Engine      one call of the system at a time; tests put one here that fails
//!   uring, threads
//! ```

#[cfg(test)]
pub(crate) mod faulty;
mod file;
mod queue;
mod seal;
mod threads;
mod transfers;
mod uring;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub(crate) use seal::{Seal, SealError};
pub(crate) use threads::Workers;
pub(crate) use transfers::Transfers;

use crate::slab::Slab;

/// Which way a slab goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Write,
    Read,
}

/// A slab on its way. The engine owns it meanwhile, so nobody can touch memory that the disk is reading or writing.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) slab: Slab,
    pub(crate) block: usize,
    pub(crate) direction: Direction,
    /// Bytes that have arrived.
    pub(crate) done: usize,
}

impl Transfer {
    /// Where in the file the rest belongs.
    fn offset(&self) -> u64 {
        self.block as u64 * self.slab.bytes() as u64 + self.done as u64
    }
}

/// All that is asked of the system: one transfer is one call, and may be cut short.
pub(crate) trait Engine: Send {
    /// Makes sure that there is room on the disk.
    fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()>;
    /// Begins a transfer. What fails at once is told by `finish`.
    fn start(&mut self, transfer: Transfer);
    /// A transfer that has ended, with the bytes that it moved. Without `wait`, or if none is under way, `None`.
    fn finish(&mut self, wait: bool) -> Option<(Transfer, io::Result<usize>)>;
}

/// Opens an engine for a new lane.
pub(crate) type OpenEngine = Arc<dyn Fn() -> io::Result<Box<dyn Engine>> + Send + Sync>;

/// How slabs get to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// io_uring where the system allows it, otherwise threads.
    #[default]
    Automatic,
    /// Threads of our own that block in `pread` and `pwrite`.
    Threads,
}

/// Whether a file can be made in this folder.
pub(crate) fn try_folder(folder: &Path) -> io::Result<()> {
    file::open(folder).map(drop)
}

/// Engines over files in this folder.
pub(crate) fn in_folder(folder: &Path, io: Io) -> OpenEngine {
    let folder = folder.to_owned();
    let workers = Arc::new(Workers::new());
    Arc::new(move || {
        let file = file::open(&folder)?;
        let ring = (io == Io::Automatic).then(|| uring::Uring::new(&file)).flatten();
        if let Some(engine) = ring {
            return Ok(Box::new(engine));
        }
        Ok(Box::new(threads::Threads::new(file, Arc::clone(&workers))?))
    })
}
