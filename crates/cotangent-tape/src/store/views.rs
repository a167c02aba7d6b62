//! Reading blocks again while the lane keeps them: those on disk are fetched for the time of the reading, the next ones
//! below in advance, because values are read downwards.

use super::{Place, Store};
use crate::error::Error;
use crate::slab::Slab;

impl Store {
    /// Where the data of a block lies, for reading, until the next call.
    pub(crate) fn view(&mut self, index: usize) -> Result<*mut u8, Error> {
        if index < self.evicted {
            let depth = self.disk()?.depth;
            self.drop_views(|viewed| viewed > index || viewed + depth <= index)?;
            self.fetch_views(index, depth)?;
        }
        self.wait_for(index)?;
        match &self.blocks[index].place {
            Place::Memory(slab) | Place::Both(slab) => Ok(slab.lo()),
            Place::Writing | Place::Disk | Place::Reading => Err(Error::Panicked),
        }
    }

    /// Nothing is viewed any more.
    pub(crate) fn end_views(&mut self) {
        // A view that failed on its way was reported when it was waited for, or nobody wanted it.
        let _ = self.drop_views(|_| true);
    }

    /// Fetches a block and, as far as slabs can be had, those below it.
    fn fetch_views(&mut self, index: usize, depth: usize) -> Result<(), Error> {
        for next in (0..=index).rev().take(depth) {
            if self.viewed.contains(&next) {
                continue;
            }
            let slab = match self.pool.take(0)? {
                Some(slab) => slab,
                // The block itself, and one more to be fetched meanwhile.
                None if next == index || self.viewed.len() < 2 => self.some_slab()?,
                None => break,
            };
            self.viewed.push(next);
            self.start_reading(next, slab)?;
        }
        Ok(())
    }

    /// Gives back the slabs of some viewed blocks, which are then on disk only, as before.
    fn drop_views(&mut self, is_done: impl Fn(usize) -> bool) -> Result<(), Error> {
        let mut result = Ok(());
        for index in std::mem::take(&mut self.viewed) {
            if !is_done(index) {
                self.viewed.push(index);
                continue;
            }
            while matches!(self.blocks[index].place, Place::Reading) {
                match self.collect(true) {
                    Err(Error::Forked) => return Err(Error::Forked),
                    one => result = result.and(one),
                }
            }
            if let Some(slab) = self.take_view(index) {
                self.pool.give_back(slab);
            }
        }
        result
    }

    fn take_view(&mut self, index: usize) -> Option<Slab> {
        match std::mem::replace(&mut self.blocks[index].place, Place::Disk) {
            Place::Both(slab) => Some(slab),
            Place::Memory(_) | Place::Writing | Place::Disk | Place::Reading => None,
        }
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
        let tape = Tape::with_engines(&options, Some(faulty::open(&state)), None).unwrap();
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
        assert!(tape.peak_bytes() <= options.budget_bytes + 3 * options.slab_bytes);
        (0..40 * BLOCK).rev().for_each(|i| assert_eq!(lane.pop(), Ok(i)));
    }
}
