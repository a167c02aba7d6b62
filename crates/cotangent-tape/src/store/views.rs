//! Reading blocks again while the lane keeps them: those on disk are fetched for the time of the reading, the next ones
//! below in advance, because values are read downwards.

use super::blocks::{Blocks, Place};
use crate::error::Error;
use crate::slab::Slab;

impl Blocks {
    /// Where the data of a block lies, for reading, until the next call. `None` if it is on disk and wants a slab, which is given with
    /// the next try.
    pub(super) fn view(&mut self, index: usize, mut slab: Option<Slab>) -> Result<Option<*mut u8>, Error> {
        self.reading = None;
        let is_there = self.see(index, &mut slab);
        if let Some(slab) = slab {
            self.give_back(slab);
        }
        if !is_there? {
            return Ok(None);
        }
        self.wait_for(index, |_| Ok(()))?;
        match &self.blocks[index].place {
            Place::Memory(slab) | Place::Both(slab) => {
                self.reading = Some(index);
                Ok(Some(slab.lo()))
            }
            Place::Writing | Place::Disk | Place::Reading => Err(Error::Panicked),
        }
    }

    /// Nothing is viewed any more.
    pub(super) fn end_views(&mut self) {
        self.reading = None;
        // A view that failed on its way was reported when it was waited for, or nobody wanted it.
        let _ = self.drop_views(|_| true);
    }

    /// A slab that was read in advance and that the lane has no pointer in.
    pub(super) fn give_up_view(&mut self) -> Result<Option<Slab>, Error> {
        // The one that will be wanted last.
        let least = self.viewed.iter().copied().filter(|&index| self.reading != Some(index)).min();
        let Some(index) = least else { return Ok(None) };
        self.viewed.retain(|&other| other != index);
        self.settle(index)?;
        Ok(self.take_copy(index))
    }

    /// Has a block brought to memory, and those below it as far as slabs can be had; whether there was one for it.
    fn see(&mut self, index: usize, slab: &mut Option<Slab>) -> Result<bool, Error> {
        self.collect(None)?;
        if index >= self.evicted && !matches!(self.blocks[index].place, Place::Disk) {
            return Ok(true);
        }
        let depth = self.files()?.depth;
        self.drop_views(|viewed| viewed > index || viewed + depth <= index)?;
        for next in (0..=index).rev().take(depth) {
            if !matches!(self.blocks[next].place, Place::Disk) {
                continue;
            }
            let found = match slab.take().or_else(|| self.spare.take()) {
                Some(slab) => Some(slab),
                None => self.shared.pool.take(0)?,
            };
            let found = match found {
                // The block itself, and one more to be fetched meanwhile.
                None if self.viewed.len() < 2 => self.evict_for_nothing()?,
                found => found,
            };
            let Some(found) = found else { return Ok(next < index) };
            if next < self.evicted {
                self.viewed.push(next);
            }
            self.start_reading(next, found)?;
        }
        Ok(true)
    }

    /// Gives back the slabs of some viewed blocks, which are then on disk only, as before.
    fn drop_views(&mut self, is_done: impl Fn(usize) -> bool) -> Result<(), Error> {
        let mut result = Ok(());
        for index in std::mem::take(&mut self.viewed) {
            if !is_done(index) {
                self.viewed.push(index);
                continue;
            }
            result = result.and(self.settle(index));
            if let Some(slab) = self.take_copy(index) {
                self.shared.pool.give_back(slab);
            }
        }
        result
    }

    /// Returns when a block is no longer on its way from the disk; another process's never arrives here.
    fn settle(&mut self, index: usize) -> Result<(), Error> {
        let mut result = Ok(());
        while matches!(self.blocks[index].place, Place::Reading) {
            match self.collect(Some(index)) {
                Err(Error::Forked) => return Err(Error::Forked),
                one => result = result.and(one),
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use crate::disk::faulty::{self, State};
    use crate::{Options, Tape};

    #[test]
    fn reading_again_goes_up_and_down() {
        const BLOCK: u64 = ((64 << 10) - 64) / 8;
        let options = Options { slab_bytes: 64 << 10, budget_bytes: 256 << 10, ..Options::default() };
        let state = Arc::new(Mutex::new(State::default()));
        let tape = Tape::with_engines(&options, vec![faulty::open(&state, 0)], None).unwrap();
        let mut lane = tape.lane();
        let mut marks = Vec::new();
        for i in 0..40 * BLOCK {
            if i % BLOCK == 100 {
                marks.push((i, lane.mark()));
            }
            lane.push(i).unwrap();
        }
        let mut again = lane.reread().unwrap();
        for step in 0..200 {
            let (end, mark) = marks[step * 17 % marks.len()];
            again.seek(mark).unwrap();
            // Over the border of two blocks, or of three.
            let count = (BLOCK + 200 * (step as u64 % 2)).min(end);
            (end - count..end).rev().for_each(|i| assert_eq!(again.pop(), Ok(i)));
        }
        drop(again);
        assert!(tape.peak_bytes() <= options.budget_bytes);
        (0..40 * BLOCK).rev().for_each(|i| assert_eq!(lane.pop(), Ok(i)));
    }
}
