//! Places on a lane: to go back to, forgetting what came later, and to read from again, forgetting nothing.

use bytemuck::Pod;

use crate::error::Error;
use crate::lane::{Held, Lane};

/// A place on a lane. It is good for as long as the lane is not popped below it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub(crate) position: u64,
    /// Which mark of its lane it is.
    pub(crate) number: u64,
    /// Which lane of the process.
    pub(crate) lane: u64,
    pub(crate) objects: u64,
}

impl Mark {
    /// No mark of any lane.
    pub(crate) const NOWHERE: Mark = Mark { position: u64::MAX, number: 0, lane: u64::MAX, objects: u64::MAX };
}

impl Lane {
    /// The present end of the lane. It takes some bytes of memory until the lane is shorter. After an error it is no mark of any lane.
    pub fn mark(&mut self) -> Mark {
        if self.may_change().is_err() {
            return Mark::NOWHERE;
        }
        let (position, objects) = (self.position(), self.objects.len());
        let number = self.fences.add(position, objects as u32);
        self.stop_at_mark();
        Mark { position, number, lane: self.number, objects: objects as u64 }
    }

    /// Whether a mark is of this lane, and nothing was taken from below it since.
    fn is_good(&self, mark: Mark) -> bool {
        mark.lane == self.number && self.fences.has(mark.number)
    }

    /// Forgets all that was pushed since the mark was taken.
    pub fn rewind(&mut self, mark: Mark) -> Result<(), Error> {
        self.may_change()?;
        if !self.is_good(mark) {
            return Err(self.fail(Error::Mark));
        }
        self.objects.truncate(mark.objects as usize);
        if mark.position < self.position() {
            let (block, offset) = self.place(mark.position);
            self.fall_to(block, offset).map_err(|error| self.fail(error))?;
        }
        self.forget_marks(mark.position);
        Ok(())
    }

    /// Begins to read the values again, from the end or, after [`Reread::seek`], from a mark. Until the end of the
    /// re-reading nothing can be pushed, and then all is as it was before.
    pub fn reread(&mut self) -> Result<Reread<'_>, Error> {
        self.hold()?;
        Ok(Reread { lane: self })
    }

    pub(crate) fn hold(&mut self) -> Result<(), Error> {
        self.may_change()?;
        self.held = Some(Held { end: self.window.cur, block: self.store.len() });
        self.see(self.store.len(), self.depth())
    }

    /// Ends what `hold` began.
    pub(crate) fn release(&mut self) {
        let Some(held) = self.held.take() else { return };
        self.store.end_views();
        if let Some(top) = &self.top {
            self.base = top.lo();
            self.window.hi = top.hi();
        }
        self.window.cur = held.end;
        self.stop_at_mark();
    }

    /// Moves the place of reading.
    pub(crate) fn seek(&mut self, mark: Mark) -> Result<(), Error> {
        self.status()?;
        if self.held.is_none() || !self.is_good(mark) {
            return Err(self.fail(Error::Mark));
        }
        if self.top.is_none() {
            // There is nothing to read.
            return Ok(());
        }
        let (block, offset) = self.place(mark.position);
        self.see(block, offset).map_err(|error| self.fail(error))
    }

    /// The block and the bytes in use of it. A place between two blocks is the end of the lower one, unless there is
    /// none, or we are in the upper one already and need not fetch another.
    fn place(&self, position: u64) -> (usize, usize) {
        let capacity = self.store.capacity() as u64;
        let (block, offset) = ((position / capacity) as usize, (position % capacity) as usize);
        if offset == 0 && block > 0 && block != self.store.len() {
            (block - 1, self.store.capacity())
        } else {
            (block, offset)
        }
    }
}

/// Reads values of a lane again, from the end downwards, without taking them away.
pub struct Reread<'lane> {
    lane: &'lane mut Lane,
}

impl Reread<'_> {
    /// The value below the place of reading, which moves there.
    #[inline]
    pub fn pop<T: Pod>(&mut self) -> Result<T, Error> {
        self.lane.pop()
    }

    /// As many values as the slice has.
    #[inline]
    pub fn pop_slice<T: Pod>(&mut self, values: &mut [T]) -> Result<(), Error> {
        self.lane.pop_slice(values)
    }

    /// Goes on from this mark, which may be above or below.
    pub fn seek(&mut self, mark: Mark) -> Result<(), Error> {
        self.lane.seek(mark)
    }

    /// How many bytes are below the place of reading.
    pub fn position(&self) -> u64 {
        self.lane.position()
    }
}

impl Drop for Reread<'_> {
    fn drop(&mut self) {
        self.lane.release();
    }
}
