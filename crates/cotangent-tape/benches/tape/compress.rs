//! Compression of what goes to the disk: bytes pushed and popped a second with it and without, in turns, by the wall
//! clock, for values of several kinds; on the disk that there is, and on one that is held to 300 MB/s.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cotangent_tape::{Options, Stats, Tape};

use crate::figure;

const DATA: usize = 1 << 30;
const BUDGET: usize = 128 << 20;
const ROUNDS: usize = 3;

/// A number that says nothing about its neighbours (splitmix64).
fn random(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// What is pushed: a function of the place.
type Number = fn(u64) -> u64;

const KINDS: [(&str, Number); 5] = [
    ("zeros", |_| 0),
    ("counters", |i| i),
    ("smooth floats as doubles", |i| f64::from((i as f64 * 1e-3).sin() as f32).to_bits()),
    ("smooth doubles", |i| (i as f64 * 1e-3).sin().to_bits()),
    ("random bits", random),
];

/// Bytes a second that the disk is held to; zero for none.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Takes the place of the C library's in this program: waits until a disk of that speed would have done it.
///
/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(file: i32, from: *const u8, bytes: usize, offset: i64) -> isize {
    wait_for(bytes);
    // SAFETY: promised by the caller.
    unsafe { libc::syscall(libc::SYS_pwrite64, file, from, bytes, offset) as isize }
}

/// As `pwrite`.
///
/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn pread(file: i32, to: *mut u8, bytes: usize, offset: i64) -> isize {
    wait_for(bytes);
    // SAFETY: promised by the caller.
    unsafe { libc::syscall(libc::SYS_pread64, file, to, bytes, offset) as isize }
}

fn wait_for(bytes: usize) {
    static IDLE_FROM: Mutex<Option<Instant>> = Mutex::new(None);
    let held = HELD.load(Ordering::Relaxed);
    if held == 0 {
        return;
    }
    let now = Instant::now();
    let mut idle_from = IDLE_FROM.lock().expect("no panic");
    let end = idle_from.map_or(now, |time| time.max(now)) + Duration::from_secs_f64(bytes as f64 / held as f64);
    *idle_from = Some(end);
    drop(idle_from);
    #[expect(clippy::disallowed_methods, reason = "the disk that is imitated takes this long")]
    std::thread::sleep(end - now);
}

pub(crate) fn run() {
    on_this_disk("");
    HELD.store(300_000_000, Ordering::Relaxed);
    on_this_disk("300 MB/s, ");
    HELD.store(0, Ordering::Relaxed);
}

fn on_this_disk(disk: &str) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    for (kind, number) in KINDS {
        // Longer than what is compressed at a time, so that a repetition helps nobody.
        let values: Vec<u64> = (0..1 << 20).map(number).collect();
        let mut rows = Vec::new();
        for _ in 0..ROUNDS {
            rows.push([false, true].map(|compress| sweep(folder.path(), &values, compress)));
        }
        for (way, verb) in ["push", "pop"].into_iter().enumerate() {
            for (compress, with) in [(0, "as they are"), (1, "compressed")] {
                let mut speeds: Vec<f64> = rows.iter().map(|row| row[compress].0[way]).collect();
                speeds.sort_by(f64::total_cmp);
                figure(&format!("{disk}{kind}, {with}: {verb}, GB/s"), speeds[ROUNDS / 2], "");
            }
        }
        let stats = rows[ROUNDS - 1][1].1;
        let whole = (stats.bytes_written + stats.bytes_saved) as f64;
        figure(
            &format!("{disk}{kind}: written of what went to disk, %"),
            stats.bytes_written as f64 * 100.0 / whole,
            "",
        );
        figure(&format!("{disk}{kind}: times given up"), stats.times_given_up as f64, "");
    }
}

/// Bytes pushed and popped a second.
fn sweep(folder: &Path, values: &[u64], compress: bool) -> ([f64; 2], Stats) {
    const PIECE: usize = 8192;
    let options = Options { budget_bytes: BUDGET, spill: Some(folder.to_owned()), compress, ..Options::default() };
    let tape = Tape::new(options).expect("options of the benchmark");
    let mut lane = tape.lane();
    let mut popped = vec![0u64; PIECE];
    let pieces = values.chunks_exact(PIECE).cycle().take(DATA / 8 / PIECE);
    let start = Instant::now();
    pieces.for_each(|piece| lane.push_slice(piece).expect("a disk with room"));
    let push = start.elapsed().as_secs_f64();
    let start = Instant::now();
    for i in (0..DATA / 8 / PIECE).rev() {
        lane.pop_slice(&mut popped).expect("what was pushed");
        let at = i * PIECE % values.len();
        assert_eq!((popped[0], popped[PIECE - 1]), (values[at], values[at + PIECE - 1]));
    }
    let pop = start.elapsed().as_secs_f64();
    ([push, pop].map(|seconds| DATA as f64 / seconds / 1e9), lane.stats())
}
