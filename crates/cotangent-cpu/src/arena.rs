//! Memory for checked runs: one large reserved range from which allocations are cut, each followed
//! by room that belongs to nobody, and never used again.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Room after each allocation, so that an access past its end meets nothing else.
const RED_ZONE: usize = 64 * 1024;

/// Address space to ask for first; half as much each time the system refuses.
const FIRST_TRY: usize = 1 << 40;

static RANGE: OnceLock<Range<usize>> = OnceLock::new();
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// The whole range; reserved when first asked for.
pub(crate) fn range() -> Range<usize> {
    RANGE.get_or_init(reserve).clone()
}

/// Memory of this many bytes, or none if there is no more address space.
pub(crate) fn allocate(bytes: usize, alignment: usize) -> Option<*mut u8> {
    let range = range();
    let step = bytes.checked_add(RED_ZONE)?.checked_next_multiple_of(alignment)?;
    let offset = RED_ZONE + NEXT.fetch_add(step, Ordering::Relaxed);
    let end = offset.checked_add(step).filter(|end| *end <= range.len());
    if end.is_none() {
        NEXT.fetch_sub(step, Ordering::Relaxed);
    }
    end.map(|_| (range.start + offset) as *mut u8)
}

/// Gives the pages of freed memory back to the system, but not their addresses.
pub(crate) fn discard(address: usize, bytes: usize) {
    let page = 4096;
    let (start, end) = (address.next_multiple_of(page), (address + bytes) / page * page);
    if start < end {
        // SAFETY: whole pages inside an allocation of this arena that has been freed.
        unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_DONTNEED) };
    }
}

fn reserve() -> Range<usize> {
    let mut bytes = FIRST_TRY;
    while bytes > RED_ZONE {
        // SAFETY: an anonymous mapping at an address of the system's choice touches nothing else.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start != libc::MAP_FAILED {
            return start as usize..start as usize + bytes;
        }
        bytes /= 2;
    }
    0..0
}
