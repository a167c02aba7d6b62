//! Slabs on disk. A lane has a file of its own in which block `i` lies at `i` times the size of a slab; the file has no
//! name, so that nothing is left of it however the process ends.
//!
//! ```text
//!   transfers   whole slabs, each sealed: retries what was interrupted or short
//!   pack        compresses them, as long as it pays (judge)
//!   Engine      one call of the system at a time; tests put one here that fails
//!   uring, threads
//! ```

#[cfg(test)]
pub(crate) mod faulty;
mod file;
mod judge;
mod pack;
mod planes;
mod queue;
mod seal;
mod threads;
mod transfers;
mod uring;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub(crate) use pack::{Buffers, Packing};
pub(crate) use seal::{Seal, SealError};
pub(crate) use threads::Workers;
pub(crate) use transfers::Transfers;

use crate::slab::Slab;
use pack::Packed;

/// Which way a slab goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Write,
    Read,
}

/// A slab on its way. The engine owns it meanwhile, so nobody can touch memory that the disk is reading or writing.
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
    /// Bytes of the block as it was compressed; zero if it was not.
    packed: usize,
    /// Compresses it, if it is to be. What is read was compressed only if `packed` says so.
    packing: Option<Arc<Packing>>,
    is_sealed: bool,
    /// Whether what was read is that block, once somebody has looked.
    verdict: Option<Result<(), SealError>>,
}

impl Transfer {
    pub(crate) fn write(slab: Slab, seal: Seal, packing: Option<Arc<Packing>>) -> Self {
        let (block, direction) = (seal.block as usize, Direction::Write);
        let (done, checksum, packed) = (0, 0, 0);
        Self { slab, block, direction, done, seal, checksum, packed, packing, is_sealed: false, verdict: None }
    }

    /// `packed` and `checksum` are what the transfer that wrote the block said.
    pub(crate) fn read(slab: Slab, seal: Seal, checksum: u32, packed: usize, packing: Option<Arc<Packing>>) -> Self {
        let (block, direction, done) = (seal.block as usize, Direction::Read, 0);
        Self { slab, block, direction, done, seal, checksum, packed, packing, is_sealed: true, verdict: None }
    }

    /// Has the next bytes moved by one call of the system, which is given where they are, how many, and where in the file. A
    /// block that is compressed goes by a call of its own; when that is short, the whole block follows as it is. `is_timed` says
    /// whether what this takes tells about a disk.
    fn run(
        &mut self,
        is_timed: bool,
        mut call: impl FnMut(*mut u8, usize, u64) -> io::Result<usize>,
    ) -> io::Result<usize> {
        if self.direction == Direction::Read || self.is_sealed {
            return self.move_rest(call);
        }
        // What is interrupted is not compressed again.
        let Some(packing) = self.packing.take() else { return self.move_rest(call) };
        let turn = packing.begin(is_timed);
        let moved = if turn.is_packed { self.write_packed(&packing, &mut call) } else { Ok(None) };
        let moved = match moved {
            Ok(Some(moved)) => Ok(moved),
            Ok(None) => self.move_rest(call),
            Err(error) => Err(error),
        };
        packing.end(turn, self.packed != 0);
        moved
    }

    /// `None` if it was not compressed, or not all of it was written.
    fn write_packed(
        &mut self,
        packing: &Packing,
        mut call: impl FnMut(*mut u8, usize, u64) -> io::Result<usize>,
    ) -> io::Result<Option<usize>> {
        let offset = self.offset();
        let packed = packing.write(self.slab.data(), &self.seal, |start, bytes| call(start, bytes, offset))?;
        Ok(packed.map(|packed| {
            (self.packed, self.checksum, self.is_sealed) = (packed.bytes, packed.checksum, true);
            self.bytes_on_disk()
        }))
    }

    fn move_rest(&mut self, mut call: impl FnMut(*mut u8, usize, u64) -> io::Result<usize>) -> io::Result<usize> {
        self.prepare();
        let offset = self.offset();
        let (start, bytes) = self.rest();
        let moved = call(start, bytes, offset)?;
        if self.direction == Direction::Read && moved == bytes {
            // Kept for the lane, which has less time.
            let _ = self.check();
        }
        Ok(moved)
    }

    /// Seals what is to be written, once. The engine does, before it writes and on the thread where that costs least.
    fn prepare(&mut self) {
        if !self.is_sealed {
            self.checksum = self.seal.put_on(&mut self.slab);
            self.is_sealed = true;
        }
    }

    /// The checksum of what was written.
    pub(crate) fn checksum(&self) -> u32 {
        self.checksum
    }

    /// To how many bytes the block was compressed; zero if it was not.
    pub(crate) fn packed(&self) -> usize {
        self.packed
    }

    /// Bytes of the block that move.
    pub(crate) fn bytes_on_disk(&self) -> usize {
        if self.packed == 0 { self.slab.bytes() } else { pack::bytes_on_disk(self.packed) }
    }

    /// Whether what was read whole is the block that was wanted. An engine that has time looks beforehand.
    pub(crate) fn check(&mut self) -> Result<(), SealError> {
        if let Some(verdict) = self.verdict {
            return verdict;
        }
        let verdict = match (self.packed, &self.packing) {
            (0, _) => self.seal.check(self.slab.all(), self.checksum),
            (bytes, Some(packing)) => {
                packing.unpack(&mut self.slab, Packed { bytes, checksum: self.checksum }, &self.seal)
            }
            (_, None) => Err(SealError::Corrupt),
        };
        self.verdict = Some(verdict);
        verdict
    }

    /// The bytes that have not arrived. While they are written a lane may be reading them, so this is no slice.
    fn rest(&mut self) -> (*mut u8, usize) {
        (self.slab.lo().wrapping_add(self.done), self.bytes_on_disk() - self.done)
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
