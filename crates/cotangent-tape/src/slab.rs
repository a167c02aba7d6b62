//! A slab: a piece of memory of fixed size, straight from the system and aligned for direct I/O. Its last bytes are
//! kept free for the seal that it carries on disk.

use std::ptr::NonNull;

/// Bytes at the end of a slab that hold no data: the seal of a block on disk. A cache line, so that the data keeps
/// its size divisible by all usual records.
pub(crate) const SEAL_BYTES: usize = 64;

/// Slabs of this size or more are made of huge pages: the system then zeroes 2 MiB at a time, which costs a tenth of
/// 512 faults.
const HUGE_PAGE: usize = 2 << 20;

/// Owns its memory; nobody else has a pointer into it, except the cursor of the lane that owns the slab.
#[derive(Debug)]
pub(crate) struct Slab {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a slab is plain memory with one owner; it may be filled on one thread and written to disk on another.
unsafe impl Send for Slab {}

impl Slab {
    /// Memory for a slab of `bytes`, a power of two and at least a page; zero to begin with. `None` if the system has
    /// no more.
    pub(crate) fn map(bytes: usize) -> Option<Slab> {
        let align = bytes.min(HUGE_PAGE);
        // Enough to cut an aligned piece out of it.
        let mapped = bytes.checked_add(align)?;
        // SAFETY: an anonymous mapping at an address of the system's choice touches no memory that is in use.
        let raw = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                mapped,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if raw == libc::MAP_FAILED {
            return None;
        }
        let raw = raw.cast::<u8>();
        let before = raw.align_offset(align);
        // SAFETY: `before < align`, so both pieces and the slab between them lie in the mapping, on page borders.
        let start = unsafe {
            let start = raw.add(before);
            if before > 0 {
                libc::munmap(raw.cast(), before);
            }
            libc::munmap(start.add(bytes).cast(), align - before);
            if bytes >= HUGE_PAGE {
                // Advice only: small pages do as well, more slowly.
                libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE);
            }
            start
        };
        NonNull::new(start).map(|start| Slab { start, bytes })
    }

    /// Bytes with the seal.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// All bytes, the seal too. No lane may write to them.
    pub(crate) fn all(&self) -> &[u8] {
        // SAFETY: the mapping is so long, was zero at first, and only its owner writes to it.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The data, without the seal. A lane may be reading it again.
    pub(crate) fn data(&self) -> &[u8] {
        &self.all()[..self.bytes - SEAL_BYTES]
    }

    /// The bytes at the end that are no data.
    pub(crate) fn seal_mut(&mut self) -> &mut [u8] {
        // SAFETY: the end of the mapping, to which only the owner writes, and from which no lane reads.
        unsafe { std::slice::from_raw_parts_mut(self.hi(), SEAL_BYTES) }
    }

    /// All bytes, the seal too. No lane may be reading them.
    pub(crate) fn all_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `all`, and this is the owner.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Where the data begins.
    pub(crate) fn lo(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Behind the last byte of data.
    pub(crate) fn hi(&self) -> *mut u8 {
        // SAFETY: a slab is longer than its seal.
        unsafe { self.start.as_ptr().add(self.bytes - SEAL_BYTES) }
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: `map` made exactly this mapping, and its owner is gone.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_aligned_zero_and_writable_to_the_last_byte() {
        for bytes in [64 << 10, 1 << 20, 2 << 20, 8 << 20] {
            let slab = Slab::map(bytes).expect("some memory");
            assert_eq!(slab.lo().align_offset(bytes.min(HUGE_PAGE)), 0);
            assert_eq!(slab.hi() as usize - slab.lo() as usize, bytes - SEAL_BYTES);
            // SAFETY: both are bytes of the slab.
            unsafe {
                assert_eq!(*slab.hi().sub(1), 0);
                *slab.lo().add(bytes - 1) = 7;
            }
        }
    }

    #[test]
    fn memory_that_is_not_there_is_none() {
        assert!(Slab::map(1 << 62).is_none());
    }
}
