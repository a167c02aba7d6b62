//! The full slabs of one lane, in order: the newest in memory, the oldest on disk once the budget is used up. The lane
//! itself has only the slab that it is working in.
//!
//! ```text
//!   block      0 ....... evicted ....... saved ....... len
//!              Disk      Writing, Both,  Memory
//!                        Reading
//! ```
//!
//! While a lane grows, blocks are written a few ahead of the need, so that an empty slab is one whose block has already
//! been written. While it shrinks, slabs that become empty fetch the blocks next in line. A block keeps its copy on disk
//! until it is worked in again, so going to and fro costs no transfers.

mod views;

use std::io;
use std::sync::Arc;
use std::time::Instant;

use crate::disk::{Direction, OpenEngine, Seal, SealError, Transfer, Transfers};
use crate::error::Error;
use crate::pool::Pool;
use crate::slab::{SEAL_BYTES, Slab};
use crate::stats::Stats;

/// Room on disk is reserved in steps of this many bytes.
const RESERVE: u64 = 64 << 20;

/// Slabs that prefetching leaves in the pool, for a lane that turns round and grows.
const SLACK: usize = 2;

/// A stack of full slabs. What it lets go of returns to the pool.
pub(crate) struct Store {
    pool: Arc<Pool>,
    lane: u64,
    blocks: Vec<Block>,
    /// So many blocks are on disk only.
    evicted: usize,
    /// So many blocks have a copy on disk, or are being written.
    saved: usize,
    /// Kept so that a lane which goes to and fro over the end of a slab does not visit the pool each time.
    spare: Option<Slab>,
    open: Option<OpenEngine>,
    disk: Option<Disk>,
    /// Blocks fetched only to be read again: below `evicted`, and yet in both places or on their way.
    viewed: Vec<usize>,
    pub(crate) stats: Stats,
}

struct Disk {
    transfers: Transfers,
    generation: u64,
    /// Bytes of the file for which there is room.
    reserved: u64,
    /// Transfers under way at a time.
    depth: usize,
    /// A forked child must not touch the file or the ring of its parent.
    process: u32,
}

struct Block {
    place: Place,
    generation: u64,
    checksum: u32,
}

enum Place {
    Memory(Slab),
    Writing,
    Both(Slab),
    Disk,
    Reading,
}

impl Store {
    pub(crate) fn new(pool: Arc<Pool>, lane: u64, open: Option<OpenEngine>) -> Self {
        let stats = Stats::default();
        Self {
            pool,
            lane,
            blocks: Vec::new(),
            evicted: 0,
            saved: 0,
            spare: None,
            open,
            disk: None,
            viewed: Vec::new(),
            stats,
        }
    }

    /// Bytes of data a block.
    pub(crate) fn capacity(&self) -> usize {
        self.pool.slab_bytes() - SEAL_BYTES
    }

    /// Bytes of data that are on disk only.
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        (self.evicted * self.capacity()) as u64
    }

    /// How many blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Keeps a full slab.
    pub(crate) fn push(&mut self, full: Slab) {
        self.blocks.push(Block { place: Place::Memory(full), generation: 0, checksum: 0 });
    }

    /// An empty slab to go on with.
    pub(crate) fn empty(&mut self) -> Result<Slab, Error> {
        self.collect(false)?;
        if self.open.is_some() && self.pool.is_short() {
            self.write_behind()?;
        }
        if let Some(slab) = self.spare.take() {
            return Ok(slab);
        }
        match self.pool.take(0)? {
            Some(slab) => Ok(slab),
            None if self.open.is_none() => Err(Error::Budget),
            None => self.evict(),
        }
    }

    /// The last block. It is about to change, so its copy on disk is no longer one.
    pub(crate) fn pop(&mut self) -> Result<Slab, Error> {
        self.collect(false)?;
        let last = self.blocks.len().checked_sub(1).ok_or(Error::Empty)?;
        if matches!(self.blocks[last].place, Place::Disk) {
            let slab = self.some_slab()?;
            self.fetch(last, slab)?;
        }
        self.wait_for(last)?;
        let slab = match self.blocks.pop().map(|block| block.place) {
            Some(Place::Memory(slab) | Place::Both(slab)) => slab,
            Some(Place::Writing | Place::Disk | Place::Reading) | None => return Err(Error::Panicked),
        };
        self.saved = self.saved.min(last);
        self.evicted = self.evicted.min(last);
        self.prefetch()?;
        Ok(slab)
    }

    /// Takes a slab that nobody needs any more.
    pub(crate) fn give_back(&mut self, slab: Slab) {
        if let Some(slab) = self.spare.replace(slab) {
            self.pool.give_back(slab);
        }
    }

    /// Of an empty store: gives its file back to the disk, and slabs that nobody uses to the system.
    pub(crate) fn give_all_back(&mut self) {
        self.disk = None;
        if let Some(slab) = self.spare.take() {
            self.pool.give_back(slab);
        }
        self.pool.give_to_system();
    }

    /// Forgets all blocks but the first `count`.
    pub(crate) fn truncate(&mut self, count: usize) -> Result<(), Error> {
        let mut result = Ok(());
        while self.blocks.len() > count {
            let last = self.blocks.len() - 1;
            // No transfer may be left that would come to rest on a later block of the same number.
            while matches!(self.blocks[last].place, Place::Writing | Place::Reading) {
                match self.collect(true) {
                    Err(Error::Forked) => break,
                    one => result = result.and(one),
                }
            }
            if let Some(Block { place: Place::Memory(slab) | Place::Both(slab), .. }) = self.blocks.pop() {
                self.pool.give_back(slab);
            }
        }
        self.saved = self.saved.min(count);
        self.evicted = self.evicted.min(count);
        result
    }

    /// The slab of the oldest block in memory, once that is on disk.
    fn evict(&mut self) -> Result<Slab, Error> {
        let oldest = self.evicted;
        if oldest == self.blocks.len() {
            // All the budget is in other lanes; without a slab of its own this one could never give any back.
            return self.pool.take_beyond_the_budget();
        }
        if oldest == self.saved {
            self.save(oldest)?;
        }
        self.wait_for(oldest)?;
        match std::mem::replace(&mut self.blocks[oldest].place, Place::Disk) {
            Place::Both(slab) => {
                self.evicted += 1;
                Ok(slab)
            }
            Place::Memory(_) | Place::Writing | Place::Disk | Place::Reading => Err(Error::Panicked),
        }
    }

    fn some_slab(&mut self) -> Result<Slab, Error> {
        match self.spare.take() {
            Some(slab) => Ok(slab),
            None => self.pool.take(0)?.map_or_else(|| self.pool.take_beyond_the_budget(), Ok),
        }
    }

    /// Writes the oldest blocks, as far ahead of eviction as transfers may be under way.
    fn write_behind(&mut self) -> Result<(), Error> {
        loop {
            let depth = self.disk()?.depth;
            let is_busy = self.disk()?.transfers.under_way() >= depth;
            if is_busy || self.saved == self.blocks.len() || self.saved - self.evicted >= 2 * depth {
                return Ok(());
            }
            self.save(self.saved)?;
        }
    }

    /// Fetches the blocks that will be popped next into slabs that nobody needs.
    fn prefetch(&mut self) -> Result<(), Error> {
        while self.evicted > 0 {
            let disk = self.disk()?;
            if disk.transfers.under_way() >= disk.depth {
                return Ok(());
            }
            let Some(slab) = self.pool.take(SLACK)? else { return Ok(()) };
            self.fetch(self.evicted - 1, slab)?;
        }
        Ok(())
    }

    /// Begins to write the first block that has no copy on disk.
    fn save(&mut self, index: usize) -> Result<(), Error> {
        let (lane, slab_bytes) = (self.lane, self.pool.slab_bytes() as u64);
        let disk = self.disk()?;
        disk.make_room((index as u64 + 1) * slab_bytes)?;
        disk.generation += 1;
        let seal = Seal { lane, block: index as u64, generation: disk.generation };
        let block = &mut self.blocks[index];
        let Place::Memory(mut slab) = std::mem::replace(&mut block.place, Place::Writing) else {
            return Err(Error::Panicked);
        };
        block.generation = seal.generation;
        block.checksum = seal.put(&mut slab);
        self.saved = index + 1;
        self.stats.bytes_written += slab_bytes;
        let transfer = Transfer { slab, block: index, direction: Direction::Write, done: 0 };
        self.disk()?.transfers.start(transfer);
        Ok(())
    }

    /// Begins to read a block that is on disk only.
    fn fetch(&mut self, index: usize, slab: Slab) -> Result<(), Error> {
        self.evicted = self.evicted.min(index);
        self.start_reading(index, slab)
    }

    fn start_reading(&mut self, index: usize, slab: Slab) -> Result<(), Error> {
        self.stats.bytes_read += slab.bytes() as u64;
        self.blocks[index].place = Place::Reading;
        let transfer = Transfer { slab, block: index, direction: Direction::Read, done: 0 };
        self.disk()?.transfers.start(transfer);
        Ok(())
    }

    /// Returns when the block is no longer under way.
    fn wait_for(&mut self, index: usize) -> Result<(), Error> {
        if !matches!(self.blocks[index].place, Place::Writing | Place::Reading) {
            self.stats.hits += 1;
            return Ok(());
        }
        self.stats.stalls += 1;
        let start = Instant::now();
        while matches!(self.blocks[index].place, Place::Writing | Place::Reading) {
            self.collect(true)?;
        }
        self.stats.stalled += start.elapsed();
        Ok(())
    }

    /// Puts slabs that have arrived into their places: all that have, or with `wait` at least one.
    fn collect(&mut self, wait: bool) -> Result<(), Error> {
        let Some(disk) = &mut self.disk else { return Ok(()) };
        disk.check_process()?;
        let mut wait = wait;
        while let Some((transfer, result)) = disk.transfers.finish(wait) {
            wait = false;
            let Transfer { slab, block: index, direction, .. } = transfer;
            let block = &mut self.blocks[index];
            let seal = Seal { lane: self.lane, block: index as u64, generation: block.generation };
            let result = result.map_err(disk_error);
            match direction {
                Direction::Write if result.is_err() => block.place = Place::Memory(slab),
                Direction::Write => block.place = Place::Both(slab),
                Direction::Read => match result.and_then(|()| seal.check(&slab, block.checksum).map_err(seal_error)) {
                    Ok(()) => block.place = Place::Both(slab),
                    Err(error) => {
                        block.place = Place::Disk;
                        self.pool.give_back(slab);
                        return Err(error);
                    }
                },
            }
            result?;
        }
        Ok(())
    }

    fn disk(&mut self) -> Result<&mut Disk, Error> {
        if self.disk.is_none() {
            let open = self.open.as_ref().ok_or(Error::Budget)?;
            let transfers = Transfers::new(open().map_err(disk_error)?);
            let depth = (self.pool.limit() / 4).clamp(1, 8);
            let process = std::process::id();
            self.disk = Some(Disk { transfers, generation: 0, reserved: 0, depth, process });
        }
        let disk = self.disk.as_mut().ok_or(Error::Panicked)?;
        disk.check_process()?;
        Ok(disk)
    }
}

impl Disk {
    /// A full disk is found here, before a byte is written.
    fn make_room(&mut self, needed: u64) -> Result<(), Error> {
        if needed <= self.reserved {
            return Ok(());
        }
        let ahead = needed.next_multiple_of(RESERVE);
        let reserved = self.reserved;
        // Perhaps there is room for this block, if not for the next ones.
        let reserved = match self.transfers.reserve(reserved, ahead - reserved) {
            Ok(()) => ahead,
            Err(_) => self.transfers.reserve(reserved, needed - reserved).map(|()| needed).map_err(disk_error)?,
        };
        self.reserved = reserved;
        Ok(())
    }

    fn check_process(&self) -> Result<(), Error> {
        if self.process == std::process::id() { Ok(()) } else { Err(Error::Forked) }
    }
}

pub(crate) fn disk_error(error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => Error::DiskFull,
        errno => Error::Disk { errno: errno.unwrap_or(libc::EIO) },
    }
}

fn seal_error(error: SealError) -> Error {
    match error {
        SealError::Corrupt => Error::Corrupt,
        SealError::Stale => Error::Stale,
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.end_views();
        // Waits for all transfers; that they failed matters to nobody any more.
        let _ = self.truncate(0);
        if let Some(slab) = self.spare.take() {
            self.pool.give_back(slab);
        }
    }
}
