//! The full slabs of one lane, in order: the newest in memory, the oldest on disk once the budget is used up. The lane
//! itself has only the slab that it is working in.
//!
//! When the budget is used up, a lane that needs a slab takes that of the oldest block of the lane that has the most,
//! itself or another: that block goes to disk first. So a lane that sleeps, or waits for this one, is in nobody's way.
//! Nobody has the locks of two lanes at a time, and nobody is asked anything under a lock.

mod blocks;
mod files;
mod shared;
mod views;

use std::ffi::CStr;
use std::sync::Arc;

pub(crate) use files::disk_error;
pub use shared::OnFull;
pub(crate) use shared::{Folder, Shared};

use crate::error::Error;
use crate::slab::{SEAL_BYTES, Slab};
use crate::stats::Stats;
use blocks::Blocks;
use shared::Member;

/// A stack of full slabs. What it lets go of returns to the pool.
pub(crate) struct Store {
    shared: Arc<Shared>,
    member: Arc<Member>,
    /// How many blocks there are: nobody else changes that.
    len: usize,
    /// Slabs of the budget that are set aside for what this lane works in.
    seats: usize,
    /// The folder of the last error.
    troubled: usize,
}

impl Store {
    pub(crate) fn new(shared: Arc<Shared>, lane: u64) -> Self {
        let member = shared.join(Blocks::new(Arc::clone(&shared), lane));
        Self { shared, member, len: 0, seats: 0, troubled: 0 }
    }

    /// Bytes of data a block.
    pub(crate) fn capacity(&self) -> usize {
        self.shared.pool.slab_bytes() - SEAL_BYTES
    }

    /// How many blocks there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Bytes of data that are on disk only.
    pub(crate) fn bytes_on_disk(&self) -> u64 {
        self.member.locked(|blocks| Ok(blocks.bytes_on_disk())).unwrap_or(0)
    }

    pub(crate) fn stats(&self) -> Stats {
        self.member.locked(|blocks| Ok(blocks.stats())).unwrap_or_default()
    }

    /// The folder that the last error is about; without one, the first.
    pub(crate) fn folder(&self) -> Option<&CStr> {
        self.shared.folders.get(self.troubled).map(|folder| folder.name.as_c_str())
    }

    /// Keeps a full slab, and gives an empty one to go on with.
    pub(crate) fn grow(&mut self, full: Option<Slab>) -> Result<Slab, Error> {
        self.sit(1)?;
        if let Some(full) = full {
            self.len += 1;
            self.with(|blocks| {
                blocks.push(full);
                Ok(())
            })?;
        }
        self.insist(Self::obtain)
    }

    /// Goes back to a block, and forgets it and all above. `emptied` is the slab that the lane worked in.
    pub(crate) fn back_to(&mut self, block: usize, emptied: Slab) -> Result<Slab, Error> {
        self.len = block;
        self.with(|blocks| match blocks.truncate(block + 1) {
            Ok(()) => blocks.pop(emptied),
            Err(error) => {
                blocks.give_back(emptied);
                Err(error)
            }
        })
    }

    /// Where the data of a block lies, for reading, until the next call.
    pub(crate) fn view(&mut self, block: usize) -> Result<*mut u8, Error> {
        if self.shared.spills() {
            self.sit(2)?;
        }
        let mut slab = None;
        loop {
            if let Some(start) = self.with(|blocks| blocks.view(block, slab.take()))? {
                return Ok(start);
            }
            slab = Some(self.insist(Self::obtain)?);
        }
    }

    /// Nothing is viewed any more.
    pub(crate) fn end_views(&mut self) {
        // In a forked child they may be out of reach, and then nobody needs their slabs.
        let _ = self.with(|blocks| {
            blocks.end_views();
            Ok(())
        });
        self.stand(1);
    }

    /// Forgets all blocks; `last` is the slab that the lane worked in.
    pub(crate) fn forget(&mut self, last: Option<Slab>) {
        self.len = 0;
        // What failed on its way is forgotten with the rest.
        let _ = self.with(|blocks| {
            blocks.end_views();
            let _ = blocks.truncate(0);
            blocks.close();
            Ok(())
        });
        if let Some(slab) = last {
            self.shared.pool.give_back(slab);
        }
        self.stand(0);
    }

    /// Gives slabs that no lane of the tape uses to the system.
    pub(crate) fn give_to_system(&self) {
        self.shared.pool.give_to_system();
    }

    /// An empty slab: of the pool, or of the lane that has the most.
    fn obtain(&mut self) -> Result<Slab, Error> {
        loop {
            if let Some(slab) = self.with(Blocks::empty)? {
                return Ok(slab);
            }
            if !self.shared.spills() {
                return Err(Error::Budget);
            }
            let mut result = Ok(());
            for member in self.shared.richest_first(&self.member) {
                let found = if Arc::ptr_eq(&member, &self.member) {
                    self.with(Blocks::give_up)
                } else {
                    self.take_from(&member)
                };
                match found {
                    Ok(Some(slab)) => return Ok(slab),
                    Ok(None) => {}
                    Err(error) => result = result.and(Err(error)),
                }
            }
            result?;
            // There are enough slabs for all seats, so that one was passed from hand to hand while we looked.
            std::thread::yield_now();
        }
    }

    fn take_from(&mut self, other: &Member) -> Result<Option<Slab>, Error> {
        let Some((slab, waited)) = self.with_those_of(other, Blocks::give_away)? else { return Ok(None) };
        self.with(|blocks| {
            blocks.count_stall(waited);
            Ok(())
        })?;
        Ok(Some(slab))
    }

    /// Does `action`, and as often as the user says so again after it found all folders full.
    fn insist<R>(&mut self, action: impl Fn(&mut Self) -> Result<R, Error>) -> Result<R, Error> {
        loop {
            match action(self) {
                Err(Error::DiskFull) if self.shared.may_try_again() => {}
                result => return result,
            }
        }
    }

    /// Sees to it that so many slabs of the budget are set aside for this lane.
    fn sit(&mut self, seats: usize) -> Result<(), Error> {
        while self.seats < seats {
            self.shared.pool.sit()?;
            self.seats += 1;
        }
        Ok(())
    }

    /// Keeps so many of the seats.
    fn stand(&mut self, seats: usize) {
        if self.seats > seats {
            self.shared.pool.stand(self.seats - seats);
            self.seats = seats;
        }
    }

    fn with<R>(&mut self, action: impl FnOnce(&mut Blocks) -> Result<R, Error>) -> Result<R, Error> {
        let member = Arc::clone(&self.member);
        self.with_those_of(&member, action)
    }

    fn with_those_of<R>(
        &mut self,
        member: &Member,
        action: impl FnOnce(&mut Blocks) -> Result<R, Error>,
    ) -> Result<R, Error> {
        member.locked(|blocks| action(blocks).inspect_err(|_| self.troubled = blocks.troubled()))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Waits for all transfers; that they failed matters to nobody any more.
        self.forget(None);
    }
}
