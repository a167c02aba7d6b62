//! What an access costs. Prints the figures and judges only that nothing was found: machines differ.
//!
//! `cargo test --release -p cotangent-cpu speed -- --nocapture` shows them.

use super::super::{Access, AccessKind, Checker, Options, SharedMemory, Site};
use super::{DEVICE, STATIC_SHARED, allocate_filled};

const THREADS: u32 = 256;
const BLOCKS: u32 = 400;
const ELEMENTS: usize = (THREADS * BLOCKS) as usize;
const SECOND: usize = DEVICE + 8 * ELEMENTS;

/// Runs `accesses` for every thread of a grid, three times, and returns the nanoseconds an access took, the best of
/// the three.
fn measure(name: &str, per_thread: usize, mut accesses: impl FnMut(&mut Checker, u32, usize)) {
    let mut checker = Checker::new(Options::default());
    allocate_filled(&mut checker, DEVICE, 4 * ELEMENTS + 4, Site::Unknown);
    allocate_filled(&mut checker, SECOND, 4 * ELEMENTS, Site::Unknown);
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = processor_seconds();
        checker.begin_launch("kernel", [BLOCKS, 1, 1], [THREADS, 1, 1], Site::Unknown);
        for block in 0..BLOCKS {
            let static_range = STATIC_SHARED..STATIC_SHARED + 4 * THREADS as usize;
            checker.begin_block([block, 0, 0], SharedMemory { static_range, ..SharedMemory::default() });
            for thread in 0..THREADS {
                checker.begin_thread(0x1000..0x2000);
                accesses(&mut checker, thread, (block * THREADS + thread) as usize);
            }
            checker.end_block();
        }
        checker.end_launch();
        best = best.min((processor_seconds() - start) * 1e9 / (ELEMENTS * per_thread) as f64);
    }
    println!("{name}: {best:.1} ns an access");
    assert_eq!(checker.findings().list().len(), 0);
}

/// Time this thread has run, which unlike the time of day does not depend on what else the machine does.
fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one `timespec`, which is ours.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn touch(checker: &mut Checker, thread: u32, kind: AccessKind, address: usize, site: usize) {
    let access = Access { address, size: 4, kind, alignment: 4, site: Site::Address(site) };
    let _ = checker.access(thread, access);
}

#[test]
fn speed_of_the_common_accesses() {
    measure("saxpy (two reads, one write)", 3, |checker, thread, element| {
        touch(checker, thread, AccessKind::Read, DEVICE + 4 * element, 0x100);
        touch(checker, thread, AccessKind::Read, SECOND + 4 * element, 0x110);
        touch(checker, thread, AccessKind::Write, SECOND + 4 * element, 0x120);
    });
    measure("three reads of neighbours, one write", 4, |checker, thread, element| {
        touch(checker, thread, AccessKind::Read, DEVICE + 4 * element.max(1) - 4, 0x100);
        touch(checker, thread, AccessKind::Read, DEVICE + 4 * element, 0x110);
        touch(checker, thread, AccessKind::Read, DEVICE + 4 * element + 4, 0x120);
        touch(checker, thread, AccessKind::Write, SECOND + 4 * element, 0x130);
    });
    measure("all threads read the same 16 elements", 16, |checker, thread, _| {
        for element in 0..16 {
            touch(checker, thread, AccessKind::Read, DEVICE + 4 * element, 0x100);
        }
    });
    measure("own shared element written and read 8 times", 16, |checker, thread, _| {
        for _ in 0..8 {
            touch(checker, thread, AccessKind::Write, STATIC_SHARED + 4 * thread as usize, 0x100);
            touch(checker, thread, AccessKind::Read, STATIC_SHARED + 4 * thread as usize, 0x110);
        }
    });
    measure("atomics of all threads on one element", 1, |checker, thread, _| {
        touch(checker, thread, AccessKind::Atomic, DEVICE, 0x100);
    });
    measure("local memory", 1, |checker, thread, _| {
        touch(checker, thread, AccessKind::Write, 0x1800, 0x100);
    });
}
