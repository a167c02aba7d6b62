//! Where the pieces of arrays are. Pieces never change, so that one may be in several places at a time: in a chunk of device
//! memory, in a chunk of pinned memory, on the lane of the tape. Older pieces are lower:
//!
//! ```text
//!   0 ........... moved_on .............. spilled .............. pieces.len()
//!   on the lane   in pinned memory, too   only on the device
//! ```
//!
//! Each part may be empty. A piece may also be in chunks above its part, where it was fetched to be read; such a chunk can
//! be taken for something else at once. Copies may end in any order; a piece leaves its part only when all older ones have.

use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use super::{Chunk, Copy, DeviceError, Driver, Memory, Source, Stream, Target};
use crate::error::Error;
use crate::lane::Lane;
use crate::mark::Mark;
use crate::stats::Stats;

/// How much memory staging may use, and in what pieces.
#[derive(Clone, Copy, Debug)]
pub struct StagingOptions {
    /// Bytes a chunk; one copy moves at most so many.
    pub chunk_bytes: usize,
    /// Bytes of pinned memory in all, at least two chunks. They are asked for with the first push, at once.
    pub pinned_bytes: usize,
    /// Bytes of device memory in all, asked for in the same way. If they are less than two chunks, or the device has not so many
    /// left, arrays go to pinned memory directly.
    pub device_bytes: usize,
}

impl Default for StagingOptions {
    fn default() -> Self {
        Self { chunk_bytes: 4 << 20, pinned_bytes: 64 << 20, device_bytes: 64 << 20 }
    }
}

/// What the layers have cost so far. Of the first three a hit is a piece that was there when it was wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStats {
    /// Bytes copied from arrays to chunks on the device, and back to arrays; waits for a chunk there.
    pub device: Stats,
    /// Bytes over the bus to pinned memory, and from there to the device; waits for a chunk there.
    pub pinned: Stats,
    /// Bytes that the host copied from pinned memory to the lane, and back.
    pub memory: Stats,
    /// What the lane has cost itself.
    pub disk: Stats,
}

/// The pieces of one device lane.
pub(super) struct Layers {
    driver: Box<dyn Driver>,
    options: StagingOptions,
    is_ready: bool,
    device: Room,
    pinned: Room,
    lane: Lane,
    /// Whether the lane is being read again.
    is_held: bool,
    /// All pieces, oldest first.
    pieces: Vec<Piece>,
    /// What is in chunks, or on its way there, by the piece's number. Pieces without chunks are not in it.
    chunks: BTreeMap<u64, Places>,
    /// So many pieces are on the lane.
    moved_on: usize,
    /// So many pieces are on the lane or in pinned memory.
    spilled: usize,
    /// Where the pieces on the lane begin and, one more, where the last one ends.
    ends: Vec<Mark>,
    /// The next piece's.
    number: u64,
    /// Copies under way.
    under_way: usize,
    memory: Stats,
}

#[derive(Clone, Copy)]
struct Piece {
    /// Later pieces have higher ones, and none has it again.
    number: u64,
    bytes: usize,
}

/// The chunks of one memory.
#[derive(Default)]
struct Room {
    start: Option<NonNull<u8>>,
    chunks: usize,
    free: Vec<Chunk>,
    stats: Stats,
}

/// In which chunks a piece is.
#[derive(Default)]
struct Places {
    device: Place,
    pinned: Place,
}

#[derive(Default)]
enum Place {
    #[default]
    Nowhere,
    Coming,
    Here(Arc<Chunk>),
}

impl Place {
    /// Whether it is here and nobody reads it.
    fn is_idle(&self) -> bool {
        matches!(self, Place::Here(chunk) if Arc::strong_count(chunk) == 1)
    }
}

impl Places {
    fn of(&mut self, memory: Memory) -> &mut Place {
        match memory {
            Memory::Device => &mut self.device,
            Memory::Pinned => &mut self.pinned,
        }
    }
}

// SAFETY: the memory belongs to the layers, and a driver may change its thread.
unsafe impl Send for Layers {}

impl Layers {
    pub(super) fn new(lane: Lane, driver: Box<dyn Driver>, options: StagingOptions) -> Result<Self, Error> {
        let StagingOptions { chunk_bytes, pinned_bytes, .. } = options;
        if chunk_bytes == 0 || pinned_bytes / chunk_bytes < 2 {
            return Err(Error::Options);
        }
        Ok(Self {
            driver,
            options,
            is_ready: false,
            device: Room::default(),
            pinned: Room::default(),
            lane,
            is_held: false,
            pieces: Vec::new(),
            chunks: BTreeMap::new(),
            moved_on: 0,
            spilled: 0,
            ends: Vec::new(),
            number: 0,
            under_way: 0,
            memory: Stats::default(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.len()
    }

    pub(super) fn lane(&self) -> &Lane {
        &self.lane
    }

    pub(super) fn chunk_bytes(&self) -> usize {
        self.options.chunk_bytes
    }

    pub(super) fn stats(&self) -> DeviceStats {
        DeviceStats {
            device: self.device.stats,
            pinned: self.pinned.stats,
            memory: self.memory,
            disk: self.lane.stats(),
        }
    }

    /// Does `action` with copies of arrays after what `stream` was given and before what it is given later, also if the
    /// action fails: copies that it has started are under way.
    pub(super) fn within(
        &mut self,
        stream: Stream,
        action: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.allocate()?;
        self.driver.follow(stream).map_err(device_error)?;
        let result = action(self);
        result.and(self.driver.lead(stream).map_err(device_error))
    }

    /// Adds a piece.
    ///
    /// # Safety
    /// As [`Driver::start`].
    pub(super) unsafe fn push(&mut self, array: *const u8, bytes: usize) -> Result<(), Error> {
        self.collect(false)?;
        let chunk = if self.device.chunks > 0 { self.device_chunk() } else { self.pinned_chunk() }?;
        let piece = Piece { number: self.number, bytes };
        self.number += 1;
        self.pieces.push(piece);
        if chunk.memory == Memory::Pinned {
            self.spilled += 1;
        }
        // SAFETY: promised by the caller.
        unsafe { self.fill(piece, Source::Array(array), chunk) };
        Ok(())
    }

    /// Copies a piece to an array.
    ///
    /// # Safety
    /// As [`Driver::start`].
    pub(super) unsafe fn read(&mut self, index: usize, array: *mut u8) -> Result<(), Error> {
        self.collect(false)?;
        let from = self.find(index)?;
        let Piece { number, bytes } = self.pieces[index];
        self.room(from.memory).stats.bytes_read += bytes as u64;
        // SAFETY: promised by the caller.
        unsafe { self.start(Copy { from: Source::Chunk(from), to: Target::Array(array), bytes, piece: number }) };
        Ok(())
    }

    /// Forgets the pieces from `count` on.
    pub(super) fn truncate(&mut self, count: usize) -> Result<(), Error> {
        if count >= self.pieces.len() {
            return Ok(());
        }
        for (_, places) in self.chunks.split_off(&self.number_at(count)) {
            for place in [places.device, places.pinned] {
                // What is coming is free when it is here, and what is being read when that has ended.
                if let Place::Here(chunk) = place {
                    self.let_go(chunk);
                }
            }
        }
        self.pieces.truncate(count);
        self.spilled = self.spilled.min(count);
        if self.moved_on > count { self.shorten_lane(count) } else { Ok(()) }
    }

    /// Sends the oldest pieces that are only on the device over the bus, until half of the chunks there can be had at once.
    pub(super) fn spill_ahead(&mut self) -> Result<(), Error> {
        let most = self.device.chunks - self.device.chunks / 2;
        while self.pieces.len() - self.spilled > most && self.spill()? {}
        Ok(())
    }

    /// Fetches what will be wanted next if it is read from `end` downwards: to the device, as far as half of the chunks
    /// there are enough for it, and to pinned memory. Only into chunks that can be had at once.
    pub(super) fn fetch_ahead(&mut self, end: usize) -> Result<(), Error> {
        let begin = self.fetch_to_device(end);
        if end < self.pieces.len() {
            // What is read again stays on the lane, which fetches ahead itself.
            return Ok(());
        }
        let lowest = begin.saturating_sub(self.pinned.chunks / 2);
        while self.moved_on > lowest {
            let top = self.number_at(self.moved_on - 1);
            if let Some(Places { pinned: Place::Here(_), .. }) = self.chunks.get(&top) {
                self.shorten_lane(self.moved_on - 1)?;
                continue;
            }
            let Some(chunk) = self.pinned.free.pop() else { break };
            self.take_from_lane(chunk)?;
        }
        Ok(())
    }

    /// What of it goes to the device. Gives the lowest piece that may be there.
    fn fetch_to_device(&mut self, end: usize) -> usize {
        let begin = end.saturating_sub(self.device.chunks / 2);
        // What lies above was read just now, and is wanted again sooner than what lies below.
        let lowest_wanted = self.number_at(begin);
        for index in (begin..end).rev() {
            if !self.fetch(index, lowest_wanted) {
                break;
            }
        }
        begin
    }

    /// Starts to copy a piece that is in pinned memory only to the device, into a chunk that is free or whose piece is older
    /// than `newer`. False if there is no such chunk.
    fn fetch(&mut self, index: usize, newer: u64) -> bool {
        let piece = self.pieces[index];
        let Some(Places { device: Place::Nowhere, pinned: Place::Here(from) }) = self.chunks.get(&piece.number) else {
            return true;
        };
        let from = Arc::clone(from);
        let Some(to) = self.device_chunk_now(newer) else { return false };
        self.pinned.stats.bytes_read += piece.bytes as u64;
        // SAFETY: no array is named.
        unsafe { self.fill(piece, Source::Chunk(from), to) };
        true
    }

    /// Ends what reading pieces again has begun on the lane.
    pub(super) fn release(&mut self) {
        if std::mem::take(&mut self.is_held) {
            self.lane.release();
        }
    }

    /// Waits for all copies.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        while self.under_way > 0 {
            self.collect(true)?;
        }
        Ok(())
    }

    /// Forgets all pieces. Waits for copies under way.
    pub(super) fn clear(&mut self) {
        while self.under_way > 0 {
            // What failed on its way is forgotten with the rest.
            let _ = self.collect(true);
        }
        self.release();
        self.lane.clear();
        self.moved_on = 0;
        self.ends.clear();
        // Nothing is on the lane, so nothing can fail.
        let _ = self.truncate(0);
    }

    /// All memory, with the first push.
    fn allocate(&mut self) -> Result<(), Error> {
        if self.is_ready {
            return Ok(());
        }
        let StagingOptions { chunk_bytes, pinned_bytes, device_bytes } = self.options;
        if self.pinned.start.is_none() {
            self.pinned = Room::new(&mut *self.driver, Memory::Pinned, chunk_bytes, pinned_bytes / chunk_bytes)?;
        }
        if device_bytes / chunk_bytes >= 2 {
            match Room::new(&mut *self.driver, Memory::Device, chunk_bytes, device_bytes / chunk_bytes) {
                // The next layer takes over.
                Err(error) if error == device_error(DeviceError::OUT_OF_MEMORY) => {}
                room => self.device = room?,
            }
        }
        self.is_ready = true;
        Ok(())
    }

    fn room(&mut self, memory: Memory) -> &mut Room {
        match memory {
            Memory::Device => &mut self.device,
            Memory::Pinned => &mut self.pinned,
        }
    }

    /// The number of a piece; above all for those that are not there.
    fn number_at(&self, index: usize) -> u64 {
        self.pieces.get(index).map_or(u64::MAX, |piece| piece.number)
    }

    /// Starts the copy of a piece into a chunk of its own.
    ///
    /// # Safety
    /// As [`Driver::start`].
    unsafe fn fill(&mut self, piece: Piece, from: Source, to: Chunk) {
        let Piece { number, bytes } = piece;
        if let (Source::Array(_), _) | (_, Memory::Pinned) = (&from, to.memory) {
            self.room(to.memory).stats.bytes_written += bytes as u64;
        }
        *self.chunks.entry(number).or_default().of(to.memory) = Place::Coming;
        // SAFETY: promised by the caller.
        unsafe { self.start(Copy { from, to: Target::Chunk(to), bytes, piece: number }) };
    }

    unsafe fn start(&mut self, copy: Copy) {
        self.under_way += 1;
        // SAFETY: passed on.
        unsafe { self.driver.start(copy) };
    }

    /// The chunk that a piece is best read from. What is in pinned memory comes to the device first, for a copy from there
    /// to the array would hold up the caller's stream for the bus's time: a host that is far ahead waits instead, while
    /// that stream has work.
    fn find(&mut self, index: usize) -> Result<Arc<Chunk>, Error> {
        let number = self.pieces[index].number;
        let mut is_from_lane = false;
        let mut is_counted = false;
        loop {
            match self.chunks.get(&number) {
                Some(Places { device: Place::Here(chunk), .. }) => {
                    self.device.stats.hits += u64::from(!is_counted);
                    return Ok(Arc::clone(chunk));
                }
                Some(Places { device: Place::Coming, .. }) => self.stall(Memory::Device)?,
                Some(Places { pinned: Place::Here(chunk), .. }) => {
                    let hits = if is_from_lane { &mut self.memory.hits } else { &mut self.pinned.stats.hits };
                    *hits += u64::from(!is_counted);
                    is_counted = true;
                    let chunk = Arc::clone(chunk);
                    if self.fetch(index, u64::MAX) {
                        self.fetch_to_device(index);
                    } else if self.is_device_chunk_to_come() {
                        self.stall(Memory::Device)?;
                    } else {
                        return Ok(chunk);
                    }
                }
                Some(Places { pinned: Place::Coming, .. }) => self.stall(Memory::Pinned)?,
                Some(Places { device: Place::Nowhere, pinned: Place::Nowhere }) => return Err(Error::Panicked),
                None => {
                    is_from_lane = true;
                    let chunk = self.pinned_chunk()?;
                    if index + 1 == self.pieces.len() && index + 1 == self.moved_on {
                        self.take_from_lane(chunk)?;
                    } else {
                        self.read_from_lane(index, chunk)?;
                    }
                }
            }
        }
    }

    /// Leaves so many pieces on the lane.
    fn shorten_lane(&mut self, count: usize) -> Result<(), Error> {
        self.release();
        self.moved_on = count;
        self.ends.truncate(count + 1);
        self.lane.rewind(self.ends[count])
    }

    /// Moves the piece on top of the lane to a chunk.
    fn take_from_lane(&mut self, chunk: Chunk) -> Result<(), Error> {
        self.release();
        self.copy_from_lane(self.moved_on - 1, chunk)?;
        self.moved_on -= 1;
        self.ends.pop();
        Ok(())
    }

    /// Copies a piece of the lane to a chunk.
    fn read_from_lane(&mut self, index: usize, chunk: Chunk) -> Result<(), Error> {
        let end = *self.ends.get(index + 1).ok_or(Error::Panicked)?;
        let held = if self.is_held { Ok(()) } else { self.lane.hold() };
        if let Err(error) = held.and_then(|()| self.lane.seek(end)) {
            self.pinned.free.push(chunk);
            return Err(error);
        }
        self.is_held = true;
        self.copy_from_lane(index, chunk)
    }

    fn copy_from_lane(&mut self, index: usize, mut chunk: Chunk) -> Result<(), Error> {
        let Piece { number, bytes } = self.pieces[index];
        if let Err(error) = self.lane.pop_slice(chunk.data_mut(bytes)) {
            self.pinned.free.push(chunk);
            return Err(error);
        }
        self.memory.bytes_read += bytes as u64;
        self.chunks.entry(number).or_default().pinned = Place::Here(Arc::new(chunk));
        Ok(())
    }

    /// Pushes the oldest piece that is not on the lane there, if nobody reads it; its chunk can then be had.
    fn move_on(&mut self) -> Result<bool, Error> {
        let Some(&Piece { number, bytes }) = self.pieces[..self.spilled].get(self.moved_on) else { return Ok(false) };
        let chunk = match self.chunks.get(&number) {
            Some(Places { pinned: pinned @ Place::Here(chunk), .. }) if pinned.is_idle() => chunk,
            _ => return Ok(false),
        };
        if std::mem::take(&mut self.is_held) {
            self.lane.release();
        }
        if self.ends.is_empty() {
            self.ends.push(self.lane.mark());
        }
        self.lane.push_slice(chunk.data(bytes))?;
        self.ends.push(self.lane.mark());
        self.moved_on += 1;
        self.memory.bytes_written += bytes as u64;
        Ok(true)
    }

    /// Starts to copy the oldest piece that is only on the device to pinned memory, if it is there and a chunk can be had at once.
    fn spill(&mut self) -> Result<bool, Error> {
        let Some(&piece) = self.pieces.get(self.spilled) else { return Ok(false) };
        let Some(Places { device: Place::Here(from), .. }) = self.chunks.get(&piece.number) else { return Ok(false) };
        let from = Arc::clone(from);
        let Some(to) = self.pinned_chunk_now()? else { return Ok(false) };
        self.spilled += 1;
        // SAFETY: no array is named.
        unsafe { self.fill(piece, Source::Chunk(from), to) };
        Ok(true)
    }

    /// A chunk on the device. There is always one to come: what is only there can be spilled.
    fn device_chunk(&mut self) -> Result<Chunk, Error> {
        loop {
            if let Some(chunk) = self.device_chunk_now(u64::MAX) {
                return Ok(chunk);
            }
            self.spill()?;
            self.stall(Memory::Device)?;
        }
    }

    /// A chunk that is free, or that of the oldest piece which is somewhere below, too, if it is older than this number.
    fn device_chunk_now(&mut self, newer: u64) -> Option<Chunk> {
        let on_lane = self.number_at(self.moved_on);
        let is_below = |number: u64, places: &Places| number < on_lane || matches!(places.pinned, Place::Here(_));
        self.device
            .free
            .pop()
            .or_else(|| self.evict(Memory::Device, |number, places| number < newer && is_below(number, places)))
    }

    /// Whether a copy is under way from or to a chunk on the device; its chunk may be had when it has ended.
    fn is_device_chunk_to_come(&self) -> bool {
        let idle = self.chunks.values().filter(|places| places.device.is_idle()).count();
        self.device.free.len() + idle < self.device.chunks
    }

    /// A pinned chunk. There is always one to come: what is in pinned memory can move on to the lane.
    fn pinned_chunk(&mut self) -> Result<Chunk, Error> {
        loop {
            if let Some(chunk) = self.pinned_chunk_now()? {
                return Ok(chunk);
            }
            self.stall(Memory::Pinned)?;
        }
    }

    /// A chunk that is free, or that of a piece which is on the lane.
    fn pinned_chunk_now(&mut self) -> Result<Option<Chunk>, Error> {
        loop {
            let on_lane = self.number_at(self.moved_on);
            let chunk = self.pinned.free.pop().or_else(|| self.evict(Memory::Pinned, |number, _| number < on_lane));
            if chunk.is_some() || !self.move_on()? {
                return Ok(chunk);
            }
        }
    }

    /// Takes the chunk of the oldest piece that `may_go`, and that nobody reads.
    fn evict(&mut self, memory: Memory, may_go: impl Fn(u64, &Places) -> bool) -> Option<Chunk> {
        let may_go = |number: u64, places: &mut Places| may_go(number, places) && places.of(memory).is_idle();
        let number = self.chunks.iter_mut().find_map(|(number, places)| may_go(*number, places).then_some(*number))?;
        let places = self.chunks.get_mut(&number)?;
        let place = std::mem::take(places.of(memory));
        if matches!(places, Places { device: Place::Nowhere, pinned: Place::Nowhere }) {
            self.chunks.remove(&number);
        }
        match place {
            Place::Here(chunk) => Arc::into_inner(chunk),
            Place::Nowhere | Place::Coming => None,
        }
    }

    /// A chunk that is not looked at any more is free, if nobody else looks at it.
    fn let_go(&mut self, chunk: Arc<Chunk>) {
        if let Some(chunk) = Arc::into_inner(chunk) {
            self.room(chunk.memory).free.push(chunk);
        }
    }

    /// Waits for a copy to end, because of a chunk of this memory.
    fn stall(&mut self, memory: Memory) -> Result<(), Error> {
        if self.under_way == 0 {
            return Err(Error::Panicked);
        }
        let start = Instant::now();
        let result = self.collect(true);
        let stats = &mut self.room(memory).stats;
        stats.stalls += 1;
        stats.stalled += start.elapsed();
        result
    }

    /// Puts chunks whose copies have ended into their places: all that have, or with `wait` at least one.
    fn collect(&mut self, mut wait: bool) -> Result<(), Error> {
        while let Some((copy, result)) = self.driver.finish(wait) {
            wait = false;
            self.under_way -= 1;
            if let Source::Chunk(chunk) = copy.from {
                self.let_go(chunk);
            }
            if let Target::Chunk(chunk) = copy.to {
                match (result, self.chunks.get_mut(&copy.piece)) {
                    (Ok(()), Some(places)) => {
                        let place = places.of(chunk.memory);
                        *place = Place::Here(Arc::new(chunk));
                    }
                    // It was forgotten meanwhile, or is never here; then the error stays, so nobody will wait for it.
                    (Ok(()), None) | (Err(_), _) => self.room(chunk.memory).free.push(chunk),
                }
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
}

impl Drop for Layers {
    fn drop(&mut self) {
        self.clear();
        for memory in [Memory::Device, Memory::Pinned] {
            let room = std::mem::take(self.room(memory));
            if let Some(start) = room.start {
                // SAFETY: `clear` waited for all copies, and no chunk is left.
                unsafe { self.driver.free(memory, start) };
            }
        }
    }
}

impl Room {
    fn new(driver: &mut dyn Driver, memory: Memory, chunk_bytes: usize, chunks: usize) -> Result<Self, Error> {
        let start = driver.allocate(memory, chunks * chunk_bytes).map_err(device_error)?;
        let chunk = |index: usize| Chunk {
            memory,
            // The device's addresses are not followed here.
            start: NonNull::new(start.as_ptr().wrapping_add(index * chunk_bytes)).unwrap_or(start),
            bytes: chunk_bytes,
        };
        Ok(Self { start: Some(start), chunks, free: (0..chunks).rev().map(chunk).collect(), stats: Stats::default() })
    }
}

fn device_error(DeviceError(code): DeviceError) -> Error {
    Error::Device { code }
}
