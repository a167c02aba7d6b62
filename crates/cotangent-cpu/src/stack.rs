//! Stacks for the coroutines that run kernel threads.
//!
//! A block with barriers needs as many stacks as it has threads, and the next block needs them
//! again, so each OS thread keeps the stacks that it once made. Their tops are staggered: stacks
//! that all start at the same offset of a page share a few cache sets, and then every switch
//! between coroutines misses.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use corosensei::stack::{Stack, StackPointer};

/// Address space of one stack. Pages are touched only when used.
const STACK_BYTES: usize = 512 * 1024;

/// Tops are spread over this many bytes.
const STAGGER_BYTES: usize = 16 * 1024;

/// A guard page costs the kernel a mapping of its own, and a process may have about 65,000. Past
/// this many stacks there are no guard pages.
const GUARDED_STACKS: usize = 8192;

static STACKS_MADE: AtomicUsize = AtomicUsize::new(0);

/// One stack, unmapped when dropped.
pub(crate) struct PooledStack {
    mapping: NonZeroUsize,
    top: StackPointer,
    limit: StackPointer,
}

impl PooledStack {
    fn new() -> PooledStack {
        let index = STACKS_MADE.fetch_add(1, Ordering::Relaxed);
        // SAFETY: an anonymous mapping at an address of the system's choice touches nothing else.
        let mapping = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                STACK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            )
        };
        assert!(mapping != libc::MAP_FAILED, "no address space left for a kernel thread's stack");
        let page = 4096;
        if index < GUARDED_STACKS {
            // SAFETY: the first page belongs to the mapping made above and is not in use.
            unsafe { libc::mprotect(mapping, page, libc::PROT_NONE) };
        }
        let base = mapping as usize;
        // A step of five cache lines visits all sets before it repeats one.
        let top = base + STACK_BYTES - index * 5 * 64 % STAGGER_BYTES;
        let nonzero = |address| NonZeroUsize::new(address).expect("a mapping is never at address zero");
        PooledStack { mapping: nonzero(base), top: nonzero(top), limit: nonzero(base + page) }
    }

    /// Lowest and one past the highest address of the stack.
    pub(crate) fn range(&self) -> Range<usize> {
        self.limit.get()..self.mapping.get() + STACK_BYTES
    }
}

// SAFETY: base and limit lie in one mapping that lives as long as the value, both are multiples of
// 16, and below the limit is the guard page.
unsafe impl Stack for PooledStack {
    fn base(&self) -> StackPointer {
        self.top
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

impl Drop for PooledStack {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this size and nobody runs on it any more.
        unsafe { libc::munmap(self.mapping.get() as *mut libc::c_void, STACK_BYTES) };
    }
}

/// The free stacks of one OS thread.
#[derive(Default)]
pub(crate) struct StackPool {
    free: Vec<PooledStack>,
}

impl StackPool {
    pub(crate) fn take(&mut self) -> PooledStack {
        self.free.pop().unwrap_or_else(PooledStack::new)
    }

    pub(crate) fn give_back(&mut self, stack: PooledStack) {
        self.free.push(stack);
    }
}
