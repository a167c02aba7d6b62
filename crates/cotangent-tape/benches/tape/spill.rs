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
const ROUNDS: usize = 3;

pub(crate) fn run() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let engines = [("threads", Io::Automatic, "at least 0.85"), ("io_uring", Io::Uring, "")];
    // A disk that others use changes its speed from one second to the next: each sweep is compared with the raw transfers
    // before and after it, and of all rounds the one in the middle is told.
    let mut before = raw(folder.path());
    let mut rows: [Vec<Row>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for ((_, io, _), rows) in engines.iter().zip(&mut rows) {
            let sweep = lane(folder.path(), *io, DATA, [0.0; 2]);
            let after = raw(folder.path());
            let raw = [0, 1].map(|way| 2.0 * DATA as f64 / (before[way] + after[way]));
            rows.push(Row { raw, sweep });
            before = after;
        }
    }
    let name = |what: &str| format!("4 GiB through 256 MiB, {what}");
    for ((engine, io, promise), rows) in engines.iter().zip(&rows) {
        for (way, verb) in ["push", "pop"].into_iter().enumerate() {
            let of = |figure: &dyn Fn(&Row) -> f64| middle(rows.iter().map(figure));
            figure(&name(&format!("{verb}: raw O_DIRECT, GB/s")), of(&|row| row.raw[way] / 1e9), "");
            figure(&name(&format!("{verb}: {engine}, GB/s")), of(&|row| row.sweep.speed(way) / 1e9), "");
            let ratio = of(&|row| row.sweep.speed(way) / row.raw[way]);
            figure(&name(&format!("{verb}: {engine} against raw")), ratio, promise);
        }
        let resident = rows.iter().map(|row| row.sweep.resident).max().unwrap_or(0) as f64 / BUDGET as f64;
        figure(&name(&format!("{engine}: most memory resident against budget")), resident, "at most 1.05");
        let alone = middle(rows.iter().map(|row| row.sweep.stalled)) * 100.0;
        figure(&name(&format!("{engine}: stalled, %")), alone, "");
        // Beside a computation that takes 1.2 times as long as the transfers alone.
        let seconds = [0, 1].map(|way| 1.2 * middle(rows.iter().map(|row| row.sweep.seconds[way])));
        let beside = lane(folder.path(), *io, DATA, seconds).stalled * 100.0;
        figure(&name(&format!("{engine}: stalled beside 1.2 times as much work, %")), beside, "at most 5");
    }
}

struct Row {
    /// Bytes a second.
    raw: [f64; 2],
    sweep: Sweep,
}

/// The one in the middle.
fn middle(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Time an element from 1 to 16 GiB, against that of 1 GiB.
pub(crate) fn sizes() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    let mut best = [[f64::INFINITY; 2]; 5];
    for _ in 0..3 {
        for (power, best) in best.iter_mut().enumerate() {
            keep_least(best, lane(folder.path(), Io::Automatic, 1 << (30 + power), [0.0; 2]).seconds);
        }
    }
    let per_double = |power: usize| best[power].iter().sum::<f64>() * 1e9 / (1u64 << (27 + power)) as f64;
    for power in 0..5 {
        figure(&format!("{} GiB through 256 MiB: ns a double", 1 << power), per_double(power), "");
    }
    let most = (0..5).map(per_double).fold(0.0, f64::max);
    figure("1 to 16 GiB through 256 MiB: slowest against 1 GiB", most / per_double(0), "at most 1.2");
}

fn keep_least(best: &mut [f64; 2], times: [f64; 2]) {
    for (best, time) in best.iter_mut().zip(times) {
        *best = best.min(time);
    }
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
    // One huge page, as slabs are: a disk takes 512 small ones in more pieces, and is slower.
    let mut memory = vec![0u8; 2 * SLAB];
    let aligned = memory.as_ptr().align_offset(SLAB);
    let slab = &mut memory[aligned..aligned + SLAB];
    // SAFETY: the slab is so long, and it is advice only.
    unsafe { libc::madvise(slab.as_mut_ptr().cast(), SLAB, libc::MADV_HUGEPAGE) };
    slab.fill(1);
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

/// One sweep through the budget.
struct Sweep {
    /// To push and to pop.
    seconds: [f64; 2],
    /// Bytes that really went to the disk, and came back: what was never there costs it nothing.
    moved: [u64; 2],
    /// The most memory that the system had given to this process beside what it had before.
    resident: usize,
    /// The part of all time that the lane waited for the disk.
    stalled: f64,
}

/// Pushes and pops so many bytes in arrays of 64 KiB. Every array is checked at both ends only, so that the time is the
/// disk's; `compute` seconds of other work are spread over each direction.
fn lane(folder: &Path, io: Io, bytes: usize, compute: [f64; 2]) -> Sweep {
    const PIECE: usize = 8192;
    let options =
        Options { slab_bytes: SLAB, budget_bytes: BUDGET, spill: Some(folder.to_owned()), io, ..Options::default() };
    let before = resident("VmRSS");
    forget_most_resident();
    let tape = Tape::new(options).expect("options of the benchmark");
    let mut lane = tape.lane();
    let mut piece = vec![0u64; PIECE];
    let count = (bytes / 8 / PIECE) as u64;
    let start = Instant::now();
    for i in 0..count {
        (piece[0], piece[PIECE - 1]) = (i, !i);
        lane.push_slice(&piece).expect("a disk with room");
        spend(compute[0] / count as f64);
    }
    let pushed = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for i in (0..count).rev() {
        lane.pop_slice(&mut piece).expect("what was pushed");
        assert_eq!((piece[0], piece[PIECE - 1]), (i, !i));
        spend(compute[1] / count as f64);
    }
    let popped = start.elapsed().as_secs_f64();
    let stats = lane.stats();
    let (moved, stalled) = ([stats.bytes_written, stats.bytes_read], stats.stalled.as_secs_f64() / (pushed + popped));
    Sweep { seconds: [pushed, popped], resident: resident("VmHWM").saturating_sub(before), stalled, moved }
}

impl Sweep {
    /// Bytes a second to disk or back.
    fn speed(&self, way: usize) -> f64 {
        self.moved[way] as f64 / self.seconds[way]
    }
}

/// Bytes of this process in memory, as the system counts them.
fn resident(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a system with /proc");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a figure of this name");
    let kilobytes = line.split_whitespace().nth(1).expect("a number");
    kilobytes.parse::<usize>().expect("a number") << 10
}

fn forget_most_resident() {
    std::fs::write("/proc/self/clear_refs", "5").expect("this process may do so");
}

/// Computes for so long.
fn spend(seconds: f64) {
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < seconds {
        std::hint::spin_loop();
    }
}
