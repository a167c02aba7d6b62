//! A lane for arrays in a device's memory: a stack of whole arrays, which are cut into pieces of a chunk's size. Where those
//! are is [`Layers`]' matter.

use super::layers::{DeviceStats, Layers, StagingOptions};
use super::{Driver, Stream};
use crate::error::Error;
use crate::fences::Fences;
use crate::lane::Lane;
use crate::mark::Mark;

/// A stack of arrays that lie in a device's memory.
pub struct DeviceLane {
    layers: Layers,
    /// All arrays, oldest first.
    arrays: Vec<Array>,
    fences: Fences,
    /// While the lane is read again: so many arrays are below the place of reading.
    held: Option<usize>,
    /// The first error; it stays.
    error: Option<Error>,
}

#[derive(Clone, Copy)]
struct Array {
    /// What is popped must be what was pushed.
    bytes: usize,
    /// Its first piece.
    begin: usize,
}

impl DeviceLane {
    /// An empty stack over `lane`, which takes what the layers above it have no room for.
    pub fn new(lane: Lane, driver: Box<dyn Driver>, options: StagingOptions) -> Result<Self, Error> {
        let layers = Layers::new(lane, driver, options)?;
        Ok(Self { layers, arrays: Vec::new(), fences: Fences::default(), held: None, error: None })
    }

    /// Pushes an array of the device, as it is when all that `stream` was given so far is done. What `stream` is given
    /// later waits until the array has been copied, so it may be overwritten there. The host waits only for chunks.
    ///
    /// # Safety
    /// `array` leads to `bytes` bytes of the device's memory, which live and are not written to by other streams until
    /// what `stream` is given next begins.
    pub unsafe fn push(&mut self, array: *const u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        self.keep(|lane| {
            lane.may_change()?;
            if bytes > isize::MAX as usize {
                return Err(Error::Size);
            }
            lane.arrays.push(Array { bytes, begin: lane.layers.len() });
            let chunk = lane.layers.chunk_bytes();
            lane.layers.within(stream, |layers| {
                // SAFETY: parts of the caller's array.
                (0..bytes)
                    .step_by(chunk)
                    .try_for_each(|at| unsafe { layers.push(array.wrapping_add(at), chunk.min(bytes - at)) })
            })?;
            lane.layers.spill_ahead()
        })
    }

    /// Pops the array pushed last into the device's memory, before all that `stream` is given later.
    ///
    /// # Safety
    /// `array` leads to `bytes` bytes of the device's memory, which live and are not used by other streams until what
    /// `stream` is given next begins.
    pub unsafe fn pop(&mut self, array: *mut u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        // SAFETY: promised by the caller.
        self.keep(|lane| unsafe { lane.pop_array(array, bytes, stream) })
    }

    unsafe fn pop_array(&mut self, array: *mut u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        let index = self.held.unwrap_or(self.arrays.len()).checked_sub(1).ok_or(Error::Empty)?;
        let Array { bytes: pushed, begin } = self.arrays[index];
        if bytes != pushed {
            return Err(Error::Size);
        }
        let forgets = self.held.is_none();
        let chunk = self.layers.chunk_bytes();
        let pieces = bytes.div_ceil(chunk);
        self.layers.within(stream, |layers| {
            for piece in (0..pieces).rev() {
                // SAFETY: a part of the caller's array.
                unsafe { layers.read(begin + piece, array.wrapping_add(piece * chunk)) }?;
                if forgets {
                    layers.truncate(begin + piece)?;
                }
            }
            Ok(())
        })?;
        match &mut self.held {
            Some(held) => *held = index,
            None => {
                self.arrays.truncate(index);
                self.fences.fall_to(index as u64, 0);
            }
        }
        self.layers.fetch_ahead(begin)
    }

    /// The present end. It is good until something below it is popped. After an error it is no mark of any lane.
    pub fn mark(&mut self) -> Mark {
        let mut mark = Mark::NOWHERE;
        // The error, if there is one, stays.
        let _ = self.keep(|lane| {
            lane.may_change()?;
            let position = lane.arrays.len() as u64;
            let number = lane.fences.add(position, 0);
            mark = Mark { position, number, lane: lane.layers.lane().number, objects: 0 };
            Ok(())
        });
        mark
    }

    /// Forgets all arrays that were pushed since the mark was taken.
    pub fn rewind(&mut self, mark: Mark) -> Result<(), Error> {
        self.keep(|lane| {
            lane.may_change()?;
            let count = lane.place(mark)?;
            if let Some(array) = lane.arrays.get(count) {
                lane.layers.truncate(array.begin)?;
            }
            lane.arrays.truncate(count);
            lane.fences.fall_to(mark.position, 0);
            Ok(())
        })
    }

    /// Begins to read the arrays again, from the end or, after [`Reread::seek`], from a mark. Until the end of the
    /// re-reading nothing can be pushed, and then all is as it was before.
    pub fn reread(&mut self) -> Result<Reread<'_>, Error> {
        self.hold()?;
        Ok(Reread { lane: self })
    }

    pub(crate) fn hold(&mut self) -> Result<(), Error> {
        self.keep(|lane| {
            lane.may_change()?;
            lane.held = Some(lane.arrays.len());
            Ok(())
        })
    }

    /// Moves the place of reading.
    pub(crate) fn seek(&mut self, mark: Mark) -> Result<(), Error> {
        self.keep(|lane| {
            let count = lane.place(mark)?;
            *lane.held.as_mut().ok_or(Error::Mark)? = count;
            let end = lane.arrays.get(count).map_or(lane.layers.len(), |array| array.begin);
            lane.layers.fetch_ahead(end)
        })
    }

    /// Ends what `hold` began.
    pub(crate) fn release(&mut self) {
        self.held = None;
        self.layers.release();
    }

    /// How many arrays there are.
    pub fn len(&self) -> usize {
        self.arrays.len()
    }

    /// Whether there is no array.
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// Waits for all copies; then the arrays are what they should be, or there is an error.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.keep(|lane| lane.layers.finish())
    }

    /// The first error since the lane was opened or cleared. After one, nothing is copied any more. Copies under way may
    /// still fail; see [`finish`](Self::finish).
    pub fn status(&self) -> Result<(), Error> {
        self.error.map_or(Ok(()), Err)
    }

    /// What each layer has cost so far.
    pub fn stats(&self) -> DeviceStats {
        self.layers.stats()
    }

    /// The lane beneath.
    pub fn lane(&self) -> &Lane {
        self.layers.lane()
    }

    /// Forgets all arrays, the error too. Waits for copies under way.
    pub fn clear(&mut self) {
        self.layers.clear();
        self.arrays.clear();
        self.fences.clear();
        self.held = None;
        self.error = None;
    }

    /// Does `action` unless there was an error, and keeps the first.
    fn keep(&mut self, action: impl FnOnce(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.status()?;
        action(self).map_err(|error| self.fail(error))
    }

    pub(crate) fn fail(&mut self, error: Error) -> Error {
        self.held = None;
        *self.error.get_or_insert(error)
    }

    fn may_change(&self) -> Result<(), Error> {
        if self.held.is_some() { Err(Error::Held) } else { Ok(()) }
    }

    /// How many arrays are below a mark, if it is of this lane and nothing was taken from below it since.
    fn place(&self, mark: Mark) -> Result<usize, Error> {
        let is_good = mark.lane == self.layers.lane().number && self.fences.has(mark.number);
        if is_good { Ok(mark.position as usize) } else { Err(Error::Mark) }
    }
}

/// Reads arrays of a lane again, from the end downwards, without taking them away.
pub struct Reread<'lane> {
    lane: &'lane mut DeviceLane,
}

impl Reread<'_> {
    /// Copies the array below the place of reading, which moves there.
    ///
    /// # Safety
    /// As [`DeviceLane::pop`].
    pub unsafe fn pop(&mut self, array: *mut u8, bytes: usize, stream: Stream) -> Result<(), Error> {
        // SAFETY: promised by the caller.
        unsafe { self.lane.pop(array, bytes, stream) }
    }

    /// Goes on from this mark, which may be above or below.
    pub fn seek(&mut self, mark: Mark) -> Result<(), Error> {
        self.lane.seek(mark)
    }
}

impl Drop for Reread<'_> {
    fn drop(&mut self) {
        self.lane.release();
    }
}
