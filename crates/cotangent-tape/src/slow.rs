//! What happens once a slab: values are copied in pieces over the border between two slabs. Every block below the top
//! is full to its last byte, so a position on the lane is a block and a remainder, and no lengths are kept.

use std::ptr;

use crate::error::Error;
use crate::lane::{Lane, Window};

/// No memory is larger: a size above it was negative, or a product that does not fit.
const MOST_BYTES: usize = isize::MAX as usize;

impl Lane {
    /// Pushes bytes, however many and wherever the slab ends.
    ///
    /// # Safety
    /// `from` leads to `bytes` bytes, outside this lane.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn push_slow(&mut self, mut from: *const u8, mut bytes: usize) -> Result<(), Error> {
        self.may_change()?;
        if bytes > MOST_BYTES {
            return Err(self.fail(Error::Size));
        }
        loop {
            let piece = bytes.min(self.window.room() as usize);
            // SAFETY: so many bytes are left of the caller's and in the slab.
            unsafe {
                ptr::copy_nonoverlapping(from, self.window.cur, piece);
                from = from.add(piece);
                self.window.cur = self.window.cur.add(piece);
            }
            bytes -= piece;
            if bytes == 0 {
                return Ok(());
            }
            self.grow().map_err(|error| self.fail(error))?;
        }
    }

    /// Pops bytes; zeros if there is an error, so that no caller sees memory that was never written.
    ///
    /// # Safety
    /// `to` leads to `bytes` writable bytes, outside this lane.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn pop_slow(&mut self, to: *mut u8, bytes: usize) -> Result<(), Error> {
        // SAFETY: passed on.
        let result = unsafe { self.pop_pieces(to, bytes) };
        if result.is_err() && bytes <= MOST_BYTES {
            // SAFETY: the caller's bytes.
            unsafe { ptr::write_bytes(to, 0, bytes) };
        }
        result
    }

    unsafe fn pop_pieces(&mut self, to: *mut u8, bytes: usize) -> Result<(), Error> {
        self.status()?;
        if bytes > MOST_BYTES {
            return Err(self.fail(Error::Size));
        }
        let Some(end) = self.position().checked_sub(bytes as u64) else { return Err(self.fail(Error::Empty)) };
        if self.held.is_none() {
            self.fences.fall_to(end, u32::MAX);
        }
        let mut left = bytes;
        loop {
            let piece = left.min(self.depth());
            left -= piece;
            // SAFETY: so many bytes are left of the caller's and in the slab.
            unsafe {
                self.window.cur = self.window.cur.sub(piece);
                ptr::copy_nonoverlapping(self.window.cur, to.add(left), piece);
            }
            if left == 0 {
                self.stop_at_mark();
                return Ok(());
            }
            self.step_back().map_err(|error| self.fail(error))?;
        }
    }

    /// Goes on in an empty slab; the present one is full.
    fn grow(&mut self) -> Result<(), Error> {
        let full = self.top.take();
        let empty = self.store.grow(full)?;
        self.base = empty.lo();
        self.window = Window { cur: empty.lo(), lo: empty.lo(), hi: empty.hi() };
        self.top = Some(empty);
        self.tell_progress();
        Ok(())
    }

    /// Goes on at the end of the block below; the present slab is empty, or only read.
    fn step_back(&mut self) -> Result<(), Error> {
        match &self.held {
            Some(held) => self.see(held.block - 1, self.store.capacity()),
            None => self.fall_to(self.store.len() - 1, self.store.capacity()),
        }
    }

    /// Makes block `block` the top, with `offset` bytes in use, and forgets all above.
    pub(crate) fn fall_to(&mut self, block: usize, offset: usize) -> Result<(), Error> {
        let is_other = block < self.store.len();
        if is_other {
            let emptied = self.top.take().ok_or(Error::Panicked)?;
            let slab = self.store.back_to(block, emptied)?;
            self.base = slab.lo();
            self.window = Window { cur: slab.lo(), lo: slab.lo(), hi: slab.hi() };
            self.top = Some(slab);
        }
        self.window.cur = self.base.wrapping_add(offset);
        if is_other {
            self.tell_progress();
        }
        Ok(())
    }

    /// Reads block `block` from `offset` downwards, and forgets nothing.
    pub(crate) fn see(&mut self, block: usize, offset: usize) -> Result<(), Error> {
        let lo = match &self.top {
            Some(top) if block == self.store.len() => top.lo(),
            Some(_) => self.store.view(block)?,
            None => ptr::null_mut(),
        };
        // `hi` is where nothing can be pushed.
        self.base = lo;
        self.window = Window { cur: lo.wrapping_add(offset), lo, hi: lo };
        if let Some(held) = &mut self.held {
            held.block = block;
        }
        Ok(())
    }
}
