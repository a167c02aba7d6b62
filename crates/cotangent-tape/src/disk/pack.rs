//! Compression of blocks on their way to the disk, by the threads that write them, and only as long as it pays.
//!
//! ```text
//!   data     pieces of 256 KiB; of each first all first bytes of eight, then all second ones, and so on: neighbouring
//!            doubles differ in their last bytes only, and zstd finds nothing in them as they are
//!   block    for each piece its length and a zstd frame with a checksum; zeros up to a whole sector; the seal at the end
//! ```
//!
//! A block takes a place as long as if it were not compressed; less of it is written. How long it is on disk is kept in
//! memory, so that nothing that comes back from the disk says how much to read or to allocate.

use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zstd_safe::{CCtx, CParameter, DCtx};

use super::file::SECTOR;
use super::judge::{Judge, Turn};
use super::planes;
use super::queue::Queue;
use super::seal::{Seal, SealError};
use crate::slab::{SEAL_BYTES, Slab};

/// zstd's fastest with entropy coding. The negative ones are not faster on sorted bytes, and leave more.
const LEVEL: i32 = 1;

/// What is compressed at a time: it stays in the cache while its bytes are sorted, and zstd needs little memory for it.
const PIECE: usize = 256 << 10;

/// What a buffer takes beside its slab: a piece, and what zstd allocates. A test compares.
const CONTEXT_BYTES: usize = 960 << 10;

/// No more than there are threads of a folder.
const MOST_BUFFERS: usize = 6;

/// The buffers of a tape, for all its threads: their memory is a part of the budget.
pub(crate) struct Buffers {
    slab_bytes: usize,
    all: Vec<Mutex<Buffer>>,
    free: Queue<usize>,
    /// So many were ever used.
    used: AtomicUsize,
}

struct Buffer {
    /// The block as it is on disk.
    slab: Slab,
    /// A piece, its bytes sorted.
    piece: Vec<u8>,
    compressor: CCtx<'static>,
    decompressor: DCtx<'static>,
    is_used: bool,
}

impl Buffers {
    /// Bytes of a budget that are set aside for buffers: a sixteenth of it or six of them, at least one.
    pub(crate) fn share_of(budget_bytes: usize, slab_bytes: usize) -> usize {
        let one = slab_bytes + CONTEXT_BYTES;
        (budget_bytes / (16 * one)).clamp(1, MOST_BUFFERS) * one
    }

    /// `None` if the system has no memory.
    pub(crate) fn new(share: usize, slab_bytes: usize) -> Option<Self> {
        let free = Queue::new();
        let mut all = Vec::new();
        for index in 0..share / (slab_bytes + CONTEXT_BYTES) {
            all.push(Mutex::new(Buffer::new(slab_bytes)?));
            free.push(index);
        }
        Some(Self { slab_bytes, all, free, used: AtomicUsize::new(0) })
    }

    /// Bytes of memory that were ever used.
    pub(crate) fn used_bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed) * (self.slab_bytes + CONTEXT_BYTES)
    }

    /// Runs `action` with a buffer, as soon as there is one. Whoever has one waits for nothing but the system.
    fn with<R>(&self, action: impl FnOnce(&mut Buffer) -> R) -> Option<R> {
        let borrowed = Borrowed { index: self.free.next()?, free: &self.free };
        // Nobody else has its number; whatever a panic left in it is overwritten.
        let mut buffer = self.all[borrowed.index].lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::replace(&mut buffer.is_used, true) {
            self.used.fetch_add(1, Ordering::Relaxed);
        }
        let result = action(&mut buffer);
        drop(buffer);
        Some(result)
    }
}

/// Gives a buffer back, also in a panic.
struct Borrowed<'a> {
    index: usize,
    free: &'a Queue<usize>,
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        self.free.push(self.index);
    }
}

impl Buffer {
    fn new(slab_bytes: usize) -> Option<Self> {
        let mut compressor = CCtx::try_create()?;
        compressor.set_parameter(CParameter::CompressionLevel(LEVEL)).ok()?;
        compressor.set_parameter(CParameter::ChecksumFlag(true)).ok()?;
        let piece = vec![0; PIECE.min(slab_bytes)];
        Some(Self {
            slab: Slab::map(slab_bytes)?,
            piece,
            compressor,
            decompressor: DCtx::try_create()?,
            is_used: false,
        })
    }

    /// The bytes of a block, compressed; `None` if that saves less than an eighth.
    fn compress(&mut self, data: &[u8]) -> Option<usize> {
        let room = self.slab.bytes() / 8 * 7 - SEAL_BYTES;
        let to = &mut self.slab.all_mut()[..room];
        let mut end = 0;
        for piece in data.chunks(PIECE) {
            let sorted = &mut self.piece[..piece.len()];
            planes::sort(piece, sorted);
            let begin = end + 4;
            let bytes = self.compressor.compress2(to.get_mut(begin..)?, sorted).ok()?;
            to[end..begin].copy_from_slice(&(bytes as u32).to_le_bytes());
            end = begin + bytes;
        }
        Some(end)
    }

    /// Undoes it; `None` if it is not what `compress` made of so many bytes.
    fn decompress(&mut self, packed: usize, data: &mut [u8]) -> Option<()> {
        let mut from = &self.slab.all()[..packed];
        for piece in data.chunks_mut(PIECE) {
            let (length, rest) = from.split_first_chunk()?;
            let (frame, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            let sorted = &mut self.piece[..piece.len()];
            if self.decompressor.decompress(sorted, frame).ok()? != piece.len() {
                return None;
            }
            planes::restore(sorted, piece);
            from = rest;
        }
        from.is_empty().then_some(())
    }
}

/// A block as it is on disk.
#[derive(Clone, Copy)]
pub(crate) struct Packed {
    /// Bytes without what fills the last sector, and without the seal.
    pub(crate) bytes: usize,
    pub(crate) checksum: u32,
}

/// Bytes on disk of a block that was compressed to so many.
pub(crate) fn bytes_on_disk(packed: usize) -> usize {
    (packed + SEAL_BYTES).next_multiple_of(SECTOR)
}

/// Compression for one lane, which gives it up when it does not pay.
pub(crate) struct Packing {
    buffers: Arc<Buffers>,
    judge: Mutex<Judge>,
    /// Beside the lock, which in a forked child may be a thread's for ever.
    times_given_up: AtomicU64,
}

impl Packing {
    pub(crate) fn new(buffers: Arc<Buffers>) -> Self {
        Self { buffers, judge: Mutex::default(), times_given_up: AtomicU64::new(0) }
    }

    /// How often it was given up.
    pub(crate) fn times_given_up(&self) -> u64 {
        self.times_given_up.load(Ordering::Relaxed)
    }

    /// Decides how the next block is written; `is_timed` if by a real disk.
    pub(crate) fn begin(&self, is_timed: bool) -> Turn {
        self.judge().begin(is_timed)
    }

    /// That block is written, or failed.
    pub(crate) fn end(&self, turn: Turn, became_smaller: bool) {
        let times = self.judge().end(turn, became_smaller);
        self.times_given_up.store(times, Ordering::Relaxed);
    }

    /// Compresses a block and writes it by one call. `None` if it is to be written as it is: this saves too little, or the disk
    /// took a part only, for the rest is not kept.
    pub(crate) fn write(
        &self,
        data: &[u8],
        seal: &Seal,
        call: impl FnOnce(*mut u8, usize) -> io::Result<usize>,
    ) -> io::Result<Option<Packed>> {
        let write = |buffer: &mut Buffer| {
            let Some(bytes) = buffer.compress(data) else { return Ok(None) };
            let all = &mut buffer.slab.all_mut()[..bytes_on_disk(bytes)];
            let (before, place) = all.split_at_mut(all.len() - SEAL_BYTES);
            before[bytes..].fill(0);
            let checksum = seal.put(before, place);
            let is_whole = call(all.as_mut_ptr(), all.len())? == all.len();
            Ok(is_whole.then_some(Packed { bytes, checksum }))
        };
        self.buffers.with(write).unwrap_or(Ok(None))
    }

    /// Brings a slab that was read from what is on disk to what was pushed.
    pub(crate) fn unpack(&self, slab: &mut Slab, packed: Packed, seal: &Seal) -> Result<(), SealError> {
        let all = &slab.all()[..bytes_on_disk(packed.bytes)];
        seal.check(all, packed.checksum)?;
        self.buffers
            .with(|buffer| {
                buffer.slab.all_mut()[..packed.bytes].copy_from_slice(&slab.all()[..packed.bytes]);
                let data = slab.bytes() - SEAL_BYTES;
                buffer.decompress(packed.bytes, &mut slab.all_mut()[..data])
            })
            .flatten()
            .ok_or(SealError::Corrupt)
    }

    fn judge(&self) -> MutexGuard<'_, Judge> {
        self.judge.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLAB: usize = 256 << 10;

    fn round(data: &[u8], packing: &Packing) -> Option<usize> {
        let seal = Seal { lane: 3, block: 5, generation: 8 };
        let mut slab = Slab::map(SLAB).unwrap();
        slab.all_mut().fill(0xa5);
        let written = packing.write(data, &seal, |start, bytes| {
            assert_eq!((start.align_offset(SECTOR), bytes % SECTOR), (0, 0));
            // SAFETY: the buffer is so long.
            slab.all_mut()[..bytes].copy_from_slice(unsafe { std::slice::from_raw_parts(start, bytes) });
            Ok(bytes)
        });
        let packed = written.unwrap()?;
        assert_eq!(packing.unpack(&mut slab, packed, &seal), Ok(()));
        assert!(slab.data() == data);
        Some(packed.bytes)
    }

    fn packing() -> Packing {
        Packing::new(Arc::new(Buffers::new(Buffers::share_of(0, SLAB), SLAB).unwrap()))
    }

    #[test]
    fn smooth_doubles_are_smaller_and_random_bytes_stay() {
        let packing = packing();
        let of = |number: &dyn Fn(u64) -> u64| -> Vec<u8> {
            (0..(SLAB - SEAL_BYTES) as u64 / 8).flat_map(|i| number(i).to_le_bytes()).collect()
        };
        let smooth = of(&|i| (i as f64 * 1e-3).sin().to_bits());
        let mut state = 1u64;
        let random: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        })
        .take(SLAB - SEAL_BYTES)
        .collect();
        assert!(round(&vec![0; SLAB - SEAL_BYTES], &packing).unwrap() < 1000);
        assert!(round(&of(&|i| i), &packing).unwrap() < SLAB / 20);
        assert!(round(&smooth, &packing).unwrap() < SLAB * 4 / 5);
        assert_eq!(round(&random, &packing), None);
        // What zstd took, counted.
        let buffer = packing.buffers.all[0].lock().unwrap();
        let context = buffer.piece.len() + buffer.compressor.sizeof() + buffer.decompressor.sizeof();
        assert!(context <= CONTEXT_BYTES && context > CONTEXT_BYTES / 2, "{context}");
        assert_eq!(packing.buffers.used_bytes(), SLAB + CONTEXT_BYTES);
    }

    /// As if the checksum of the seal had let it pass: zstd's own finds it, or the lengths do.
    #[test]
    fn damaged_frames_are_found_without_a_seal() {
        let mut buffer = Buffer::new(SLAB).unwrap();
        let data: Vec<u8> = (0..SLAB - SEAL_BYTES).map(|i| (i / 100) as u8).collect();
        let packed = buffer.compress(&data).unwrap();
        let mut back = vec![0; data.len()];
        let mut random = 1u64;
        for round in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = if round < 64 { round / 8 } else { (random >> 33) as usize % packed };
            let bit = 1 << (round % 8);
            buffer.slab.all_mut()[at] ^= bit;
            // A bit that means nothing to zstd does no harm either.
            if buffer.decompress(packed, &mut back).is_some() {
                assert!(back == data, "{at}");
            }
            buffer.slab.all_mut()[at] ^= bit;
        }
        assert!(buffer.decompress(packed, &mut back).is_some() && back == data);
        assert!(buffer.decompress(packed - 1, &mut back).is_none());
    }
}
