//! More than the budget: bandwidth to and from disk against the disk itself, by the wall clock, in turns.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Instant;

use cotangent_tape::{Io, Options, Tape};

use crate::figure;

const DATA: usize = 4 << 30;
const BUDGET: usize = 256 << 20;
const SLAB: usize = 2 << 20;
const ROUNDS: usize = 2;

pub(crate) fn run() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let mut best = [[f64::INFINITY; 2]; 3];
    let mut keep = |which: usize, times: [f64; 2]| {
        for (best, time) in best[which].iter_mut().zip(times) {
            *best = best.min(time);
        }
    };
    let mut resident = 0;
    for _ in 0..ROUNDS {
        keep(0, raw(folder.path()));
        let (times, bytes) = lane(folder.path(), Io::Automatic);
        keep(1, times);
        resident = bytes.max(resident);
        keep(2, lane(folder.path(), Io::Threads).0);
    }
    let speed = |seconds: f64| DATA as f64 / seconds / 1e9;
    for (index, way) in ["push", "pop"].into_iter().enumerate() {
        let raw = best[0][index];
        figure(&format!("4 GiB through 256 MiB, {way}: raw O_DIRECT, GB/s"), speed(raw), "");
        figure(&format!("4 GiB through 256 MiB, {way}: lane, io_uring, GB/s"), speed(best[1][index]), "");
        figure(&format!("4 GiB through 256 MiB, {way}: lane, threads, GB/s"), speed(best[2][index]), "");
        figure(&format!("4 GiB through 256 MiB, {way}: lane against raw"), raw / best[1][index], "at least 0.85");
    }
    figure(
        "4 GiB through 256 MiB: most memory resident against budget",
        resident as f64 / BUDGET as f64,
        "at most 1.05",
    );
}

/// Seconds to write and to read with four threads, each a slab at a time: what the disk can do.
fn raw(folder: &Path) -> [f64; 2] {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE | libc::O_DIRECT);
    let file = options.open(folder).expect("a disk with direct I/O");
    // SAFETY: the file is open.
    assert_eq!(unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, DATA as i64) }, 0);
    [true, false].map(|is_write| {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let file = &file;
                scope.spawn(move || blocks(file, thread, is_write));
            }
        });
        start.elapsed().as_secs_f64()
    })
}

fn blocks(file: &File, first: usize, is_write: bool) {
    let mut memory = vec![1u8; 2 * SLAB];
    let aligned = memory.as_ptr().align_offset(4096);
    let slab = &mut memory[aligned..aligned + SLAB];
    for block in (first..DATA / SLAB).step_by(4) {
        let offset = (block * SLAB) as i64;
        // SAFETY: the slab is so long.
        let moved = unsafe {
            if is_write {
                libc::pwrite(file.as_raw_fd(), slab.as_ptr().cast(), SLAB, offset)
            } else {
                libc::pread(file.as_raw_fd(), slab.as_mut_ptr().cast(), SLAB, offset)
            }
        };
        assert_eq!(moved, SLAB as isize);
    }
}

/// Seconds to push and to pop as much in arrays of 64 KiB, and the most bytes that the tape had. Every array is checked at
/// both ends, so that the time is the disk's.
fn lane(folder: &Path, io: Io) -> ([f64; 2], usize) {
    const PIECE: usize = 8192;
    let options = Options { slab_bytes: SLAB, budget_bytes: BUDGET, spill: Some(folder.to_owned()), io };
    let tape = Tape::new(options).expect("options of the benchmark");
    let mut lane = tape.lane();
    let mut piece = vec![0u64; PIECE];
    let count = (DATA / 8 / PIECE) as u64;
    let start = Instant::now();
    for i in 0..count {
        (piece[0], piece[PIECE - 1]) = (i, !i);
        lane.push_slice(&piece).expect("a disk with room");
    }
    let pushed = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for i in (0..count).rev() {
        lane.pop_slice(&mut piece).expect("what was pushed");
        assert_eq!((piece[0], piece[PIECE - 1]), (i, !i));
    }
    let popped = start.elapsed().as_secs_f64();
    println!("# {io:?}: {:?}", lane.stats());
    ([pushed, popped], tape.peak_bytes())
}
