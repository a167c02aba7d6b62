//! A lane's place in registers, for loops that do little else than push or pop: the compiler need not store `cur` after
//! each value, as it must when the lane itself is somewhere in memory. C++ has the same.

use std::mem::MaybeUninit;
use std::ptr;

use bytemuck::Pod;

use crate::error::Error;
use crate::lane::{Lane, Window};

/// Pushes to and pops from a lane, which has its place back when the cursor is dropped.
pub struct Cursor<'lane> {
    lane: &'lane mut Lane,
    window: Window,
}

impl Lane {
    /// A cursor to use in a loop.
    #[inline]
    pub fn cursor(&mut self) -> Cursor<'_> {
        let window = self.window;
        Cursor { lane: self, window }
    }
}

impl Cursor<'_> {
    /// As [`Lane::push`].
    #[inline(always)]
    pub fn push<T: Pod>(&mut self, value: T) -> Result<(), Error> {
        if self.window.has_room(size_of::<T>()) {
            // SAFETY: so many bytes from `cur` on are free and belong to the slab of the lane.
            unsafe { self.window.put(value) };
            return Ok(());
        }
        let copy = value;
        // By value: an address of the window would keep it out of the registers.
        let (window, result) = push_slow(self.lane, self.window, copy);
        self.window = window;
        result
    }

    /// As [`Lane::pop`].
    #[inline(always)]
    pub fn pop<T: Pod>(&mut self) -> Result<T, Error> {
        if self.window.has(size_of::<T>()) {
            // SAFETY: so many bytes below `cur` were pushed, and any bytes are a `T`.
            return Ok(unsafe { self.window.take() });
        }
        let (window, result) = pop_slow(self.lane, self.window);
        self.window = window;
        result
    }
}

#[cold]
#[inline(never)]
fn push_slow<T: Pod>(lane: &mut Lane, window: Window, value: T) -> (Window, Result<(), Error>) {
    lane.window = window;
    // SAFETY: `value` is so long.
    let result = unsafe { lane.push_slow(ptr::from_ref(&value).cast(), size_of::<T>()) };
    (lane.window, result)
}

#[cold]
#[inline(never)]
fn pop_slow<T: Pod>(lane: &mut Lane, window: Window) -> (Window, Result<T, Error>) {
    lane.window = window;
    let mut value = MaybeUninit::<T>::uninit();
    // SAFETY: `value` is so long, and is filled if there is no error.
    let result = unsafe { lane.pop_slow(value.as_mut_ptr().cast(), size_of::<T>()).map(|()| value.assume_init()) };
    (lane.window, result)
}

impl Drop for Cursor<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lane.window = self.window;
    }
}

#[cfg(test)]
mod tests {
    use crate::{Error, Options, Tape};

    #[test]
    fn a_cursor_does_what_its_lane_does() {
        let tape = Tape::new(Options { slab_bytes: 64 << 10, ..Options::default() }).unwrap();
        let mut lane = tape.lane();
        lane.push(7u8).unwrap();
        let mut cursor = lane.cursor();
        (0..100_000u64).for_each(|i| cursor.push(i).unwrap());
        drop(cursor);
        assert_eq!(lane.position(), 800_001);
        assert_eq!(lane.pop::<u64>(), Ok(99_999));
        let mut cursor = lane.cursor();
        (0..99_999u64).rev().for_each(|i| assert_eq!(cursor.pop(), Ok(i)));
        assert_eq!((cursor.pop::<u8>(), cursor.pop::<u8>()), (Ok(7), Err(Error::Empty)));
        assert_eq!(cursor.push(1u8), Err(Error::Empty));
        drop(cursor);
        assert_eq!(lane.status(), Err(Error::Empty));
    }
}
