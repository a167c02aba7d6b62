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
    done: usize,
    /// Which block it is, or must be.
    seal: Seal,
    /// Of all its bytes; zero before it is sealed.
    checksum: u32,
    is_sealed: bool,
    /// Whether what was read is that block, once somebody has looked.
    verdict: Option<Result<(), SealError>>,
}

impl Transfer {
    pub(crate) fn write(slab: Slab, seal: Seal) -> Self {
        let (block, direction) = (seal.block as usize, Direction::Write);
        Self { slab, block, direction, done: 0, seal, checksum: 0, is_sealed: false, verdict: None }
    }

    pub(crate) fn read(slab: Slab, seal: Seal, checksum: u32) -> Self {
        let (block, direction) = (seal.block as usize, Direction::Read);
        Self { slab, block, direction, done: 0, seal, checksum, is_sealed: true, verdict: None }
    }

    /// Seals what is to be written, once. The engine does, before it writes and on the thread where that costs least.
    fn prepare(&mut self) {
        if !self.is_sealed {
            self.checksum = self.seal.put(&mut self.slab);
            self.is_sealed = true;
        }
    }

    /// The checksum of what was written.
    pub(crate) fn checksum(&self) -> u32 {
        self.checksum
    }

    /// Whether what was read whole is the block that was wanted. An engine that has time looks beforehand.
    pub(crate) fn check(&mut self) -> Result<(), SealError> {
        *self.verdict.get_or_insert_with(|| self.seal.check(&self.slab, self.checksum))
    }

    /// The bytes that have not arrived. While they are written a lane may be reading them, so this is no slice.
    fn rest(&mut self) -> (*mut u8, usize) {
        (self.slab.lo().wrapping_add(self.done), self.slab.bytes() - self.done)
    }

    /// Where in the file the rest belongs.
    fn offset(&self) -> u64 {
        self.block as u64 * self.slab.bytes() as u64 + self.done as u64
    }
}

/// All that is asked of the system: one transfer is one call, and may be cut short.
pub(crate) trait Engine: Send {
    /// Makes sure that there is room on the disk.
    fn reserve(&mut self, offset: u64, bytes: u64) -> io::Result<()>;
    /// Begins a transfer, which is sealed before it is written. What fails at once is told by `finish`.
    fn start(&mut self, transfer: Transfer);
    /// A transfer that has ended, with the bytes that it moved. Without `wait`, or if none is under way, `None`.
    fn finish(&mut self, wait: bool) -> Option<(Transfer, io::Result<usize>)>;
}

/// Opens an engine for a new lane.
pub(crate) type OpenEngine = Arc<dyn Fn() -> io::Result<Box<dyn Engine>> + Send + Sync>;

/// How slabs get to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Io {
    /// What is the fastest: threads, as far as was measured.
    #[default]
    Automatic,
    /// Threads of our own that block in `pread` and `pwrite`.
    Threads,
    /// io_uring where the system allows it, otherwise threads. The lane's own thread computes the checksums.
    Uring,
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
        let ring = (io == Io::Uring).then(|| uring::Uring::new(&file)).flatten();
        if let Some(engine) = ring {
            return Ok(Box::new(engine));
        }
        Ok(Box::new(threads::Threads::new(file, Arc::clone(&workers))?))
    })
}
