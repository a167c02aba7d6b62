//! A lane: one thread's stack of bytes. Pushing and popping is a compare and a copy at the cursor; once a slab, [`slow`]
//! steps to the next. No lock, no atomic, and no allocation in between.
//!
//! Values are packed: each takes exactly its size, at whatever address comes next, and is copied in and out. So nothing
//! need be known about what lies below in order to pop, a `bool` costs a byte, and a lane of `double`s is aligned
//! anyway, because slabs are.
//!
//! [`slow`]: crate::slow

use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::Pod;

use crate::error::Error;
use crate::fences::Fences;
use crate::objects::Objects;
use crate::progress::{Progress, Watcher};
use crate::slab::Slab;
use crate::stats::Stats;
use crate::store::Store;

/// Where a lane stands. The layout is `cotangent_cursor` of `include/cotangent/tape.h`: generated code moves `cur`
/// itself.
///
/// `lo` is where the slab begins, or the highest good mark in it: below that pops take the slow way. `lo <= cur` always. `cur <= hi` while values may be pushed; `hi == lo` while the lane is read again, and all three
/// are null before the first push and after an error, so that every push and pop then takes the slow way.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// The next byte to be written; the last value ends here.
    pub(crate) cur: *mut u8,
    /// The first byte that may be popped.
    pub(crate) lo: *mut u8,
    /// Behind the last byte that may be written.
    pub(crate) hi: *mut u8,
}

impl Window {
    pub(crate) const NOWHERE: Window = Window { cur: ptr::null_mut(), lo: ptr::null_mut(), hi: ptr::null_mut() };

    /// Bytes that may be written; negative while the lane is read again.
    #[inline]
    pub(crate) fn room(&self) -> isize {
        (self.hi as isize).wrapping_sub(self.cur as isize)
    }

    /// Bytes that may be read.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        (self.cur as usize).wrapping_sub(self.lo as usize)
    }

    /// Whether so many bytes may be written. The sum is the next `cur`, and costs nothing.
    #[inline(always)]
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.cur as usize + bytes <= self.hi as usize
    }

    /// Whether so many bytes may be read. The sum does not change in a loop. Null has none.
    #[inline(always)]
    pub(crate) fn has(&self, bytes: usize) -> bool {
        self.lo as usize + bytes <= self.cur as usize
    }

    /// # Safety
    /// There is room for the value.
    #[inline(always)]
    pub(crate) unsafe fn put<T: Pod>(&mut self, value: T) {
        // SAFETY: promised by the caller.
        unsafe {
            self.cur.cast::<T>().write_unaligned(value);
            self.cur = self.cur.add(size_of::<T>());
        }
    }

    /// # Safety
    /// So many bytes may be read.
    #[inline(always)]
    pub(crate) unsafe fn take<T: Pod>(&mut self) -> T {
        // SAFETY: promised by the caller, and any bytes are a `T`.
        unsafe {
            self.cur = self.cur.sub(size_of::<T>());
            self.cur.cast::<T>().read_unaligned()
        }
    }
}

/// A stack of plain values, for one thread at a time.
#[repr(C)]
pub struct Lane {
    /// First, so that C sees it at the lane's address.
    pub(crate) window: Window,
    /// Cursors of C++ that are there. More than one would have places of their own.
    pub(crate) cursors: u32,
    pub(crate) id: u32,
    /// Which lane of the process it is.
    pub(crate) number: u64,
    /// The first byte of the slab, or of the block that is read again.
    pub(crate) base: *mut u8,
    pub(crate) fences: Fences,
    /// The slab that is being filled; `None` if nothing was ever pushed.
    pub(crate) top: Option<Slab>,
    /// The full slabs below it.
    pub(crate) store: Store,
    pub(crate) objects: Objects,
    /// The first error; it stays.
    pub(crate) error: Option<Error>,
    /// Whether somebody was told of it, in C or C++.
    pub(crate) is_told: bool,
    /// While the lane is read again.
    pub(crate) held: Option<Held>,
    watcher: Option<Watcher>,
}

/// Where to go on after the lane was read again.
pub(crate) struct Held {
    /// The end of all values.
    pub(crate) end: *mut u8,
    /// The block that is being read.
    pub(crate) block: usize,
}

// SAFETY: the pointers of a lane lead into slabs that it owns.
unsafe impl Send for Lane {}

impl Lane {
    pub(crate) fn new(id: u32, store: Store, watcher: Option<Watcher>) -> Self {
        static LANES: AtomicU64 = AtomicU64::new(0);
        Lane {
            window: Window::NOWHERE,
            cursors: 0,
            id,
            number: LANES.fetch_add(1, Ordering::Relaxed),
            base: ptr::null_mut(),
            fences: Fences::default(),
            top: None,
            store,
            objects: Objects::default(),
            error: None,
            is_told: false,
            held: None,
            watcher,
        }
    }

    /// Pushes a value: a number, an array, a record.
    #[inline]
    pub fn push<T: Pod>(&mut self, value: T) -> Result<(), Error> {
        if self.window.has_room(size_of::<T>()) {
            // SAFETY: so many bytes from `cur` on are free and belong to the slab of this lane.
            unsafe { self.window.put(value) };
            return Ok(());
        }
        // A copy, so that the value itself need not have an address.
        let copy = value;
        // SAFETY: `copy` is so long.
        unsafe { self.push_slow(ptr::from_ref(&copy).cast(), size_of::<T>()) }
    }

    /// Pops a value that was pushed as this type.
    #[inline]
    pub fn pop<T: Pod>(&mut self) -> Result<T, Error> {
        if self.window.has(size_of::<T>()) {
            // SAFETY: so many bytes below `cur` were pushed, and any bytes are a `T`.
            return Ok(unsafe { self.window.take() });
        }
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: `value` is so long, and is filled if there is no error.
        unsafe {
            self.pop_slow(value.as_mut_ptr().cast(), size_of::<T>())?;
            Ok(value.assume_init())
        }
    }

    /// Pushes all values of a slice, the last one on top. It may be longer than a slab. The length is not kept.
    #[inline]
    pub fn push_slice<T: Pod>(&mut self, values: &[T]) -> Result<(), Error> {
        let bytes = size_of_val(values);
        if self.window.room() >= bytes as isize {
            // SAFETY: so many bytes from `cur` on are free and belong to the slab of this lane.
            unsafe {
                ptr::copy_nonoverlapping(values.as_ptr().cast::<u8>(), self.window.cur, bytes);
                self.window.cur = self.window.cur.add(bytes);
            }
            return Ok(());
        }
        // SAFETY: the slice is so long.
        unsafe { self.push_slow(values.as_ptr().cast(), bytes) }
    }

    /// Pops as many values as the slice has, into the order in which they were pushed.
    #[inline]
    pub fn pop_slice<T: Pod>(&mut self, values: &mut [T]) -> Result<(), Error> {
        let bytes = size_of_val(values);
        if self.window.depth() >= bytes {
            // SAFETY: so many bytes below `cur` were pushed, and any bytes are a `T`.
            unsafe {
                self.window.cur = self.window.cur.sub(bytes);
                ptr::copy_nonoverlapping(self.window.cur, values.as_mut_ptr().cast::<u8>(), bytes);
            }
            return Ok(());
        }
        // SAFETY: the slice is so long.
        unsafe { self.pop_slow(values.as_mut_ptr().cast(), bytes) }
    }

    /// Moves a value of any type to the side lane, which stays in memory.
    pub fn push_object<T: Send + 'static>(&mut self, value: T) -> Result<(), Error> {
        self.may_change()?;
        self.objects.push(value);
        Ok(())
    }

    /// Takes the last value of the side lane, which must be of this type.
    pub fn pop_object<T: Send + 'static>(&mut self) -> Result<T, Error> {
        self.may_change()?;
        let value = self.objects.pop().map_err(|error| self.fail(error))?;
        self.forget_marks(self.position());
        Ok(value)
    }

    /// How many bytes are on the lane, or below the place where it is read again. Zero after an error.
    pub fn position(&self) -> u64 {
        if self.error.is_some() {
            return 0;
        }
        let block = self.held.as_ref().map_or(self.store.len(), |held| held.block);
        (block * self.store.capacity() + self.depth()) as u64
    }

    /// Bytes of the slab, or of the block that is read again, below the present place.
    pub(crate) fn depth(&self) -> usize {
        (self.window.cur as usize).wrapping_sub(self.base as usize)
    }

    /// Forgets the marks above an end with so many bytes, and lets pops go down to the highest that is left.
    pub(crate) fn forget_marks(&mut self, position: u64) {
        self.fences.fall_to(position, self.objects.len() as u32);
        self.stop_at_mark();
    }

    /// Sees to it that a pop below the highest good mark is noticed.
    pub(crate) fn stop_at_mark(&mut self) {
        if self.held.is_none() && self.top.is_some() {
            let begin = (self.store.len() * self.store.capacity()) as u64;
            let within = self.fences.highest().saturating_sub(begin) as usize;
            self.window.lo = self.base.wrapping_add(within);
        }
    }

    /// What the lane has cost so far.
    pub fn stats(&self) -> Stats {
        self.store.stats()
    }

    /// The first error since the lane was opened or cleared.
    pub fn status(&self) -> Result<(), Error> {
        self.error.map_or(Ok(()), Err)
    }

    /// Forgets all values, the error too, and gives memory and disk back to the system. To use the memory again, rewind to a mark instead.
    pub fn clear(&mut self) {
        self.forget();
        self.store.give_to_system();
    }

    /// Forgets all values and the error; slabs go to the other lanes of the tape.
    fn forget(&mut self) {
        self.objects.truncate(0);
        self.fences.clear();
        self.held = None;
        self.error = None;
        self.is_told = false;
        self.window = Window::NOWHERE;
        self.base = ptr::null_mut();
        let last = self.top.take();
        self.store.forget(last);
    }

    /// Tells who wants to know that another slab is being worked in.
    pub(crate) fn tell_progress(&self) {
        if let Some(watcher) = &self.watcher {
            let bytes_on_disk = self.store.bytes_on_disk();
            watcher.tell(Progress { bytes: self.position(), bytes_on_disk, lane: self.id });
        }
    }

    /// Keeps the first error and sends all later calls the slow way.
    #[cold]
    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.window = Window::NOWHERE;
        self.held = None;
        *self.error.get_or_insert(error)
    }

    pub(crate) fn may_change(&mut self) -> Result<(), Error> {
        self.status()?;
        if self.held.is_some() { Err(self.fail(Error::Held)) } else { Ok(()) }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.forget();
    }
}
