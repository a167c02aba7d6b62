//! The blocks of one lane, under the lock of their lane.
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

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::files::{Files, disk_error};
use super::shared::Shared;
use crate::disk::{Direction, Packing, Seal, SealError, Transfer};
use crate::error::Error;
use crate::slab::{SEAL_BYTES, Slab};
use crate::stats::Stats;

/// Slabs that prefetching leaves in the pool, for a lane that turns round and grows.
const SLACK: usize = 2;

/// How many times as many blocks as may be under way are written ahead of eviction. A disk does some in a tenth of the time that it takes for
/// others, and rests if the next ones have to wait for the slowest.
const AHEAD: usize = 4;

/// A stack of full slabs. What it lets go of returns to the pool.
pub(crate) struct Blocks {
    pub(super) shared: Arc<Shared>,
    lane: u64,
    pub(super) blocks: Vec<Block>,
    /// So many blocks are on disk only.
    pub(super) evicted: usize,
    /// So many blocks have a copy on disk, or are being written.
    saved: usize,
    /// Kept so that a lane which goes to and fro over the end of a slab does not visit the pool each time.
    pub(super) spare: Option<Slab>,
    files: Option<Files>,
    /// If blocks are to be compressed.
    packing: Option<Arc<Packing>>,
    /// Blocks fetched only to be read again: below `evicted`, and yet in both places or on their way.
    pub(super) viewed: Vec<usize>,
    /// The block in which the lane has a pointer, while it is read again: it stays where it is.
    pub(super) reading: Option<usize>,
    stats: Stats,
}

pub(super) struct Block {
    pub(super) place: Place,
    generation: u64,
    checksum: u32,
    /// To how many bytes it was compressed; zero if it was not.
    packed: usize,
    /// Whose file has the copy.
    folder: usize,
    /// How many folders had no room when it was written.
    refused: usize,
}

pub(super) enum Place {
    Memory(Slab),
    Writing,
    Both(Slab),
    Disk,
    Reading,
}

impl Blocks {
    pub(super) fn new(shared: Arc<Shared>, lane: u64) -> Self {
        let stats = Stats::default();
        let packing = shared.buffers.as_ref().map(|buffers| Arc::new(Packing::new(Arc::clone(buffers))));
        Self {
            shared,
            lane,
            blocks: Vec::new(),
            evicted: 0,
            saved: 0,
            spare: None,
            files: None,
            packing,
            viewed: Vec::new(),
            reading: None,
            stats,
        }
    }

    /// Slabs that another lane may have. Those on their way count.
    pub(super) fn slabs(&self) -> usize {
        self.blocks.len() - self.evicted + self.viewed.len() + usize::from(self.spare.is_some())
    }

    /// Bytes of data that are on disk only.
    pub(super) fn bytes_on_disk(&self) -> u64 {
        (self.evicted * (self.shared.pool.slab_bytes() - SEAL_BYTES)) as u64
    }

    pub(super) fn stats(&self) -> Stats {
        let times_given_up = self.packing.as_ref().map_or(0, |packing| packing.times_given_up());
        Stats { times_given_up, ..self.stats }
    }

    /// The folder of the last error.
    pub(super) fn troubled(&self) -> usize {
        self.files.as_ref().map_or(0, |files| files.troubled)
    }

    /// Keeps a full slab.
    pub(super) fn push(&mut self, full: Slab) {
        let place = Place::Memory(full);
        self.blocks.push(Block { place, generation: 0, checksum: 0, packed: 0, folder: 0, refused: 0 });
    }

    /// An empty slab, if that costs no other block its place.
    pub(super) fn empty(&mut self) -> Result<Option<Slab>, Error> {
        self.collect(None)?;
        if self.shared.spills() && self.shared.pool.is_short() {
            self.write_behind();
        }
        match self.spare.take() {
            Some(slab) => Ok(Some(slab)),
            None => self.shared.pool.take(0),
        }
    }

    /// A slab for whoever needs one: empty, read in advance, or that of the oldest block in memory, once it is on disk.
    /// `None` if there is none that can be spared.
    pub(super) fn give_up(&mut self) -> Result<Option<Slab>, Error> {
        self.collect(None)?;
        if let Some(slab) = self.spare.take() {
            return Ok(Some(slab));
        }
        if let Some(slab) = self.give_up_view()? {
            return Ok(Some(slab));
        }
        if self.evicted == self.blocks.len() {
            return Ok(None);
        }
        self.write_behind();
        self.evict()
    }

    /// The same for another lane, and how long that lane waits for it.
    pub(super) fn give_away(&mut self) -> Result<Option<(Slab, Duration)>, Error> {
        let Stats { hits, stalls, stalled, .. } = self.stats;
        let slab = self.give_up();
        let waited = self.stats.stalled - stalled;
        self.stats = Stats { hits, stalls, stalled, ..self.stats };
        slab.map(|slab| slab.map(|slab| (slab, waited)))
    }

    /// Counts that the lane waited for a block of another.
    pub(super) fn count_stall(&mut self, waited: Duration) {
        self.stats.stalls += u64::from(!waited.is_zero());
        self.stats.stalled += waited;
    }

    /// Takes the last block out. It is about to change, so its copy on disk is no longer one. `emptied` is what it is read into if it
    /// is on disk, or goes back.
    pub(super) fn pop(&mut self, emptied: Slab) -> Result<Slab, Error> {
        let last = match self.collect(None) {
            Ok(()) => self.blocks.len().checked_sub(1).ok_or(Error::Empty),
            Err(error) => Err(error),
        };
        match last {
            Ok(last) if matches!(self.blocks[last].place, Place::Disk) => self.fetch(last, emptied)?,
            Ok(_) | Err(_) => self.give_back(emptied),
        }
        let last = last?;
        self.wait_for(last, Self::prefetch)?;
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
    pub(super) fn give_back(&mut self, slab: Slab) {
        if let Some(slab) = self.spare.replace(slab) {
            self.shared.pool.give_back(slab);
        }
    }

    /// Of an empty lane: gives its files back to the disk, and its last slab to the pool.
    pub(super) fn close(&mut self) {
        self.files = None;
        if let Some(slab) = self.spare.take() {
            self.shared.pool.give_back(slab);
        }
    }

    /// Forgets all blocks but the first `count`.
    pub(super) fn truncate(&mut self, count: usize) -> Result<(), Error> {
        let mut result = Ok(());
        while self.blocks.len() > count {
            let last = self.blocks.len() - 1;
            // No transfer may be left that would come to rest on a later block of the same number.
            while matches!(self.blocks[last].place, Place::Writing | Place::Reading) {
                match self.collect(Some(last)) {
                    Err(Error::Forked) => break,
                    one => result = result.and(one),
                }
            }
            if let Some(Block { place: Place::Memory(slab) | Place::Both(slab), .. }) = self.blocks.pop() {
                self.shared.pool.give_back(slab);
            }
        }
        self.saved = self.saved.min(count);
        self.evicted = self.evicted.min(count);
        result
    }

    /// The slab of the oldest block in memory, once that is on disk; `None` if there is none.
    fn evict(&mut self) -> Result<Option<Slab>, Error> {
        let mut first = None;
        while self.evicted < self.blocks.len() {
            let oldest = self.evicted;
            if first != Some(oldest) {
                // There may be room now where there was none when it was written ahead.
                self.blocks[oldest].refused = 0;
                first = Some(oldest);
            }
            if oldest >= self.saved {
                self.save(oldest)?;
            }
            self.wait_for(oldest, |blocks| {
                blocks.write_behind();
                Ok(())
            })?;
            match &self.blocks[oldest].place {
                // No room in the folder where it was to go: once more, in another.
                Place::Memory(_) => continue,
                Place::Both(_) if self.reading == Some(oldest) => self.viewed.push(oldest),
                // A read for another lane's sake failed; its own lane will see.
                Place::Both(_) | Place::Disk => {}
                Place::Writing | Place::Reading => return Err(Error::Panicked),
            }
            self.evicted += 1;
            if self.reading != Some(oldest)
                && let Some(slab) = self.take_copy(oldest)
            {
                return Ok(Some(slab));
            }
        }
        Ok(None)
    }

    /// The slab of the oldest block in memory if that is on disk already.
    pub(super) fn evict_for_nothing(&mut self) -> Result<Option<Slab>, Error> {
        let has_copy = self.blocks.get(self.evicted).is_some_and(|block| matches!(block.place, Place::Both(_)));
        if has_copy && self.reading != Some(self.evicted) { self.evict() } else { Ok(None) }
    }

    /// The slab of a block that has a copy on disk, and from now on only that.
    pub(super) fn take_copy(&mut self, index: usize) -> Option<Slab> {
        let place = &mut self.blocks[index].place;
        match std::mem::replace(place, Place::Disk) {
            Place::Both(slab) => Some(slab),
            other => {
                *place = other;
                None
            }
        }
    }

    /// Begins to write the oldest blocks, some ahead of eviction. What goes wrong is no error before a block must be written.
    fn write_behind(&mut self) {
        while let Ok(files) = self.files() {
            let (depth, is_busy) = (files.depth, files.under_way() >= files.depth);
            let is_ahead = self.saved.saturating_sub(self.evicted) >= AHEAD * depth;
            if is_busy || is_ahead || self.saved == self.blocks.len() || self.save(self.saved).is_err() {
                return;
            }
        }
    }

    /// Fetches the blocks that will be popped next into slabs that nobody needs.
    fn prefetch(&mut self) -> Result<(), Error> {
        while self.evicted > 0 {
            let files = self.files()?;
            if files.under_way() >= files.depth {
                return Ok(());
            }
            let Some(slab) = self.shared.pool.take(SLACK)? else { return Ok(()) };
            self.fetch(self.evicted - 1, slab)?;
        }
        Ok(())
    }

    /// Begins to write a block, all below which have a copy on disk.
    fn save(&mut self, index: usize) -> Result<(), Error> {
        let (lane, slab_bytes) = (self.lane, self.shared.pool.slab_bytes() as u64);
        if !matches!(self.blocks[index].place, Place::Memory(_)) {
            // Written before one below it, for which there was no room at first.
            self.saved = index + 1;
            return Ok(());
        }
        let refused = self.blocks[index].refused;
        let files = self.files()?;
        if refused >= files.count() {
            return Err(Error::DiskFull);
        }
        let offset = index as u64 * slab_bytes;
        let folder = files.make_room(offset..offset + slab_bytes)?;
        files.generation += 1;
        let seal = Seal { lane, block: index as u64, generation: files.generation };
        let block = &mut self.blocks[index];
        let Place::Memory(slab) = std::mem::replace(&mut block.place, Place::Writing) else {
            return Err(Error::Panicked);
        };
        block.folder = folder;
        block.generation = seal.generation;
        self.saved = index + 1;
        let packing = self.packing.clone();
        self.files()?.start(folder, Transfer::write(slab, seal, packing))
    }

    /// Begins to read a block that is on disk only.
    fn fetch(&mut self, index: usize, slab: Slab) -> Result<(), Error> {
        self.evicted = self.evicted.min(index);
        self.start_reading(index, slab)
    }

    pub(super) fn start_reading(&mut self, index: usize, slab: Slab) -> Result<(), Error> {
        let packing = self.packing.clone();
        let block = &mut self.blocks[index];
        block.place = Place::Reading;
        let (folder, checksum, packed) = (block.folder, block.checksum, block.packed);
        let seal = Seal { lane: self.lane, block: index as u64, generation: block.generation };
        let transfer = Transfer::read(slab, seal, checksum, packed, packing);
        self.stats.bytes_read += transfer.bytes_on_disk() as u64;
        self.files()?.start(folder, transfer)
    }

    /// Returns when the block is no longer under way. Others may arrive much earlier: `meanwhile` keeps the disk busy.
    pub(super) fn wait_for(
        &mut self,
        index: usize,
        meanwhile: impl Fn(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !matches!(self.blocks[index].place, Place::Writing | Place::Reading) {
            self.stats.hits += 1;
            return Ok(());
        }
        self.stats.stalls += 1;
        let start = Instant::now();
        while matches!(self.blocks[index].place, Place::Writing | Place::Reading) {
            self.collect(Some(index))?;
            meanwhile(self)?;
        }
        self.stats.stalled += start.elapsed();
        Ok(())
    }

    /// Puts slabs that have arrived into their places: all that have, or at least one if `block`, which is under way, is waited for.
    pub(super) fn collect(&mut self, block: Option<usize>) -> Result<(), Error> {
        let Some(files) = &mut self.files else { return Ok(()) };
        files.check_process()?;
        let mut wait = block.map(|block| self.blocks[block].folder);
        while let Some((mut transfer, result)) = files.finish(wait.take()) {
            let is_right = match (transfer.direction, &result) {
                (Direction::Read, Ok(())) => transfer.check().map_err(seal_error),
                (Direction::Read | Direction::Write, _) => Ok(()),
            };
            let (checksum, packed, bytes) = (transfer.checksum(), transfer.packed(), transfer.bytes_on_disk());
            let Transfer { slab, block: index, direction, .. } = transfer;
            let block = &mut self.blocks[index];
            match (direction, result) {
                (Direction::Write, Ok(())) => {
                    self.stats.bytes_written += bytes as u64;
                    self.stats.bytes_saved += (slab.bytes() - bytes) as u64;
                    block.place = Place::Both(slab);
                    block.checksum = checksum;
                    block.packed = packed;
                    block.refused = 0;
                }
                (Direction::Write, Err(error)) => {
                    let offset = index as u64 * slab.bytes() as u64;
                    block.place = Place::Memory(slab);
                    self.saved = self.saved.min(index);
                    files.was_refused(block.folder, offset, error)?;
                    block.refused += 1;
                }
                (Direction::Read, result) => match result.map_err(disk_error).and(is_right) {
                    Ok(()) => block.place = Place::Both(slab),
                    Err(error) => {
                        files.troubled = block.folder;
                        block.place = Place::Disk;
                        self.shared.pool.give_back(slab);
                        return Err(error);
                    }
                },
            }
        }
        Ok(())
    }

    pub(super) fn files(&mut self) -> Result<&mut Files, Error> {
        if self.files.is_none() {
            if !self.shared.spills() {
                return Err(Error::Budget);
            }
            self.files = Some(Files::new(Arc::clone(&self.shared)));
        }
        let files = self.files.as_mut().ok_or(Error::Panicked)?;
        files.check_process()?;
        Ok(files)
    }
}

fn seal_error(error: SealError) -> Error {
    match error {
        SealError::Corrupt => Error::Corrupt,
        SealError::Stale => Error::Stale,
    }
}
