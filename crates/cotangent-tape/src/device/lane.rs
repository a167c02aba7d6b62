//! A lane for arrays in a device's memory. An array is cut into pieces of a chunk's size. The newest pieces stay in pinned
//! memory, where they come from and go to the device without another copy; older ones move on to a lane of the tape.
//!
//! Copies may end in any order, but the lane takes bytes in one order only: a piece moves on when all older ones have.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::time::Instant;

use super::{Chunk, Copy, DeviceError, Direction, Driver, Stream};
use crate::error::Error;
use crate::lane::Lane;
use crate::stats::Stats;

/// How much pinned memory there is, and in what pieces it is used.
#[derive(Clone, Copy, Debug)]
pub struct StagingOptions {
    /// Bytes a chunk; one copy of the device moves at most so many.
    pub chunk_bytes: usize,
    /// Bytes of pinned memory in all, at least two chunks. They are asked for with the first push, at once.
    pub pinned_bytes: usize,
}

impl Default for StagingOptions {
    fn default() -> Self {
        Self { chunk_bytes: 4 << 20, pinned_bytes: 64 << 20 }
    }
}

/// A stack of arrays that lie in a device's memory.
pub struct DeviceLane {
    driver: Box<dyn Driver>,
    options: StagingOptions,
    pinned: Option<NonNull<u8>>,
    free: Vec<Chunk>,
    /// Pieces that are not on the lane, oldest first.
    staged: VecDeque<Piece>,
    /// So many pieces are on the lane.
    moved_on: u64,
    lane: Lane,
    /// The sizes of all arrays: what is popped must be what was pushed.
    sizes: Vec<usize>,
    /// Copies under way.
    under_way: usize,
    /// The first error; it stays.
    error: Option<Error>,
    stats: Stats,
}

/// A piece in pinned memory, or on its way there.
enum Piece {
    Coming,
    Here(Chunk, usize),
}

// SAFETY: the pinned memory belongs to the lane, and a driver may change its thread.
unsafe impl Send for DeviceLane {}

impl DeviceLane {
    /// An empty stack over `lane`, which takes what pinned memory has no room for.
    pub fn new(lane: Lane, driver: Box<dyn Driver>, options: StagingOptions) -> Result<Self, Error> {
        let StagingOptions { chunk_bytes, pinned_bytes } = options;
        if chunk_bytes == 0 || pinned_bytes / chunk_bytes < 2 {
            return Err(Error::Options);
        }
        Ok(Self {
            driver,
            options,
            pinned: None,
            free: Vec::new(),
            staged: VecDeque::new(),
            moved_on: 0,
            lane,
            sizes: Vec::new(),
            under_way: 0,
            error: None,
            stats: Stats::default(),
        })
    }

    /// Pushes an array of the device, as it is when all that `stream` was given so far is done. What `stream` is given
    /// later waits until the array has been copied, so it may be overwritten there. The host waits only for chunks.
    ///
    /// # Safety
    /// `array` leads to `bytes` bytes of the device's memory, which live and are not written to by other streams until
    /// what `stream` is given next begins.
    pub unsafe fn push(&mut self, array: *const u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        // SAFETY: promised by the caller.
        self.keep(|lane| unsafe { lane.push_pieces(array, bytes, stream) })
    }

    /// Pops the array pushed last into the device's memory, before all that `stream` is given later.
    ///
    /// # Safety
    /// `array` leads to `bytes` bytes of the device's memory, which live and are not used by other streams until what
    /// `stream` is given next begins.
    pub unsafe fn pop(&mut self, array: *mut u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        // SAFETY: promised by the caller.
        self.keep(|lane| unsafe { lane.pop_pieces(array, bytes, stream) })
    }

    /// How many arrays there are.
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there is no array.
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// Waits for all copies; then the arrays are what they should be, or there is an error.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.keep(|lane| {
            while lane.under_way > 0 {
                lane.stall()?;
            }
            Ok(())
        })
    }

    /// The first error since the lane was opened or cleared. After one, nothing is copied any more. Copies under way may
    /// still fail; see [`finish`](Self::finish).
    pub fn status(&self) -> Result<(), Error> {
        self.error.map_or(Ok(()), Err)
    }

    /// What staging has cost so far: `bytes_written` came from the device, `bytes_read` went back. A hit is a piece that
    /// was still in pinned memory when it was popped.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The lane beneath, for its own statistics.
    pub fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Forgets all arrays, the error too. Waits for copies under way.
    pub fn clear(&mut self) {
        while self.under_way > 0 {
            // What failed on its way is forgotten with the rest.
            let _ = self.collect(true);
        }
        for piece in self.staged.drain(..) {
            if let Piece::Here(chunk, _) = piece {
                self.free.push(chunk);
            }
        }
        self.moved_on = 0;
        self.sizes.clear();
        self.lane.clear();
        self.error = None;
    }

    unsafe fn push_pieces(&mut self, array: *const u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        self.allocate()?;
        self.driver.follow(stream).map_err(device_error)?;
        let mut at = 0;
        while at < bytes {
            let piece = (bytes - at).min(self.options.chunk_bytes);
            let chunk = self.free_chunk()?;
            let number = self.moved_on + self.staged.len() as u64;
            self.staged.push_back(Piece::Coming);
            let device = array.wrapping_add(at).cast_mut();
            // SAFETY: a part of the caller's array.
            unsafe { self.start(Copy { chunk, device, bytes: piece, direction: Direction::FromDevice, number }) };
            self.stats.bytes_written += piece as u64;
            at += piece;
        }
        self.sizes.push(bytes);
        self.driver.lead(stream).map_err(device_error)
    }

    unsafe fn pop_pieces(&mut self, array: *mut u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        match self.sizes.pop() {
            Some(size) if size == bytes => {}
            Some(_) => return Err(Error::Size),
            None => return Err(Error::Empty),
        }
        self.driver.follow(stream).map_err(device_error)?;
        let mut end = bytes;
        while end > 0 {
            // The piece that was pushed last is the only one that may be shorter.
            let at = (end - 1) / self.options.chunk_bytes * self.options.chunk_bytes;
            let piece = end - at;
            let chunk = self.last_piece(piece)?;
            let device = array.wrapping_add(at);
            // SAFETY: a part of the caller's array.
            unsafe { self.start(Copy { chunk, device, bytes: piece, direction: Direction::ToDevice, number: 0 }) };
            self.stats.bytes_read += piece as u64;
            end = at;
        }
        self.driver.lead(stream).map_err(device_error)
    }

    /// All pinned memory, with the first push.
    fn allocate(&mut self) -> Result<(), Error> {
        if self.pinned.is_some() {
            return Ok(());
        }
        let StagingOptions { chunk_bytes, pinned_bytes } = self.options;
        let count = pinned_bytes / chunk_bytes;
        let memory = self.driver.allocate(count * chunk_bytes).map_err(device_error)?;
        self.pinned = Some(memory);
        self.free.extend((0..count).map(|index| {
            // SAFETY: within the memory just allocated.
            Chunk { start: unsafe { memory.add(index * chunk_bytes) }, bytes: chunk_bytes }
        }));
        Ok(())
    }

    unsafe fn start(&mut self, copy: Copy) {
        self.under_way += 1;
        // SAFETY: passed on.
        unsafe { self.driver.start(copy) };
    }

    /// A chunk that nobody needs: one whose copy to the device has ended, or the oldest piece's, which moves on.
    fn free_chunk(&mut self) -> Result<Chunk, Error> {
        self.collect(false)?;
        loop {
            if let Some(chunk) = self.free.pop() {
                return Ok(chunk);
            }
            match self.staged.pop_front() {
                Some(Piece::Here(mut chunk, bytes)) => {
                    self.moved_on += 1;
                    let result = self.lane.push_slice(chunk.data(bytes));
                    self.free.push(chunk);
                    result?;
                }
                Some(Piece::Coming) => {
                    self.staged.push_front(Piece::Coming);
                    self.stall()?;
                }
                None => self.stall()?,
            }
        }
    }

    /// The piece that was pushed last, of so many bytes: still staged, or from the lane.
    fn last_piece(&mut self, bytes: usize) -> Result<Chunk, Error> {
        self.collect(false)?;
        if matches!(self.staged.back(), Some(Piece::Here(..))) {
            self.stats.hits += 1;
        }
        while let Some(Piece::Coming) = self.staged.back() {
            self.stall()?;
        }
        match self.staged.pop_back() {
            Some(Piece::Here(chunk, staged)) if staged == bytes => Ok(chunk),
            Some(_) => Err(Error::Panicked),
            None => {
                let mut chunk = self.free_chunk()?;
                self.moved_on -= 1;
                match self.lane.pop_slice(chunk.data(bytes)) {
                    Ok(()) => Ok(chunk),
                    Err(error) => {
                        self.free.push(chunk);
                        Err(error)
                    }
                }
            }
        }
    }

    /// Waits for a copy to end.
    fn stall(&mut self) -> Result<(), Error> {
        if self.under_way == 0 {
            return Err(Error::Panicked);
        }
        let start = Instant::now();
        let result = self.collect(true);
        self.stats.stalls += 1;
        self.stats.stalled += start.elapsed();
        result
    }

    /// Puts chunks whose copies have ended into their places: all that have, or with `wait` at least one.
    fn collect(&mut self, mut wait: bool) -> Result<(), Error> {
        while let Some((copy, result)) = self.driver.finish(wait) {
            wait = false;
            self.under_way -= 1;
            let Copy { chunk, bytes, direction, number, .. } = copy;
            match (direction, result) {
                (Direction::ToDevice, _) => self.free.push(chunk),
                (Direction::FromDevice, Ok(())) => {
                    self.staged[(number - self.moved_on) as usize] = Piece::Here(chunk, bytes);
                }
                // The piece is never here; the error stays, so nobody will wait for it.
                (Direction::FromDevice, Err(_)) => self.free.push(chunk),
            }
            result.map_err(device_error)?;
        }
        if wait && self.under_way > 0 {
            // A driver that forgets its copies.
            self.under_way = 0;
            return Err(Error::Panicked);
        }
        Ok(())
    }

    /// Does `action` unless there was an error, and keeps the first.
    fn keep(&mut self, action: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.status()?;
        action(self).map_err(|error| self.fail(error))
    }

    pub(crate) fn fail(&mut self, error: Error) -> Error {
        *self.error.get_or_insert(error)
    }
}

impl Drop for DeviceLane {
    fn drop(&mut self) {
        self.clear();
        self.free.clear();
        if let Some(memory) = self.pinned.take() {
            // SAFETY: `clear` waited for all copies, and no chunk is left.
            unsafe { self.driver.free(memory) };
        }
    }
}

fn device_error(DeviceError(code): DeviceError) -> Error {
    Error::Device { code }
}
