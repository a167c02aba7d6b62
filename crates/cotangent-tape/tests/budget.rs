//! The budget holds however many lanes there are and whatever they do: as the tape counts memory, and as the system
//! does, in a process of its own.

use std::path::Path;
use std::sync::Barrier;

use cotangent_tape::{Error, Io, Lane, Options, Tape};

use crate::process::other;

const LANES: usize = 64;
const BUDGET: usize = 64 << 20;

/// On a disk: `/tmp` may be memory.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder")
}

fn tape(folder: &Path, slab_bytes: usize, budget_bytes: usize, io: Io) -> Tape {
    let options = Options { slab_bytes, budget_bytes, spill: Some(folder.to_owned()), io, ..Options::default() };
    Tape::new(options).expect("options of the test")
}

fn numbers(lane: usize, count: u64) -> impl DoubleEndedIterator<Item = u64> {
    (0..count).map(move |i| i * LANES as u64 + lane as u64)
}

fn push(lane: &mut Lane, seed: usize, count: u64) {
    numbers(seed, count).for_each(|i| assert_eq!(lane.push(i), Ok(())));
}

fn pop(lane: &mut Lane, seed: usize, count: u64) {
    numbers(seed, count).rev().for_each(|i| assert_eq!(lane.pop(), Ok(i)));
}

#[test]
fn sixty_four_lanes_on_sixty_four_threads_keep_the_budget() {
    let folder = folder();
    let output = other("sixty-four lanes", folder.path()).output().expect("the test starts again");
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// With sixteen slabs a lane, four, and the least that there may be.
pub(crate) fn sixty_four_lanes(folder: &Path) {
    let kinds = [
        (64 << 10, Io::Uring, false),
        (256 << 10, Io::Threads, false),
        (1 << 20, Io::Threads, false),
        (64 << 10, Io::Threads, true),
        (256 << 10, Io::Threads, true),
    ];
    for (slab_bytes, io, compress) in kinds {
        let is_least = slab_bytes * LANES == BUDGET;
        let before = memory("VmRSS");
        std::fs::write("/proc/self/clear_refs", "5").expect("this process may do so");
        let spill = Some(folder.to_owned());
        let options = Options { slab_bytes, budget_bytes: BUDGET, spill, io, compress, ..Options::default() };
        let tape = Tape::new(options).expect("options of the test");
        let barrier = Barrier::new(LANES);
        std::thread::scope(|scope| {
            for seed in 0..LANES {
                let (tape, barrier) = (&tape, &barrier);
                scope.spawn(move || several_ways(&mut tape.lane(), seed, barrier, is_least));
            }
        });
        let (counted, most) = (tape.peak_bytes(), memory("VmHWM") - before);
        eprintln!("slabs of {slab_bytes}, compressed {compress}: {counted} counted, {most} resident");
        assert!(counted <= BUDGET && counted > BUDGET / 2, "{counted}");
        assert!(most <= BUDGET + BUDGET / 20 && most > BUDGET / 2, "{most}");
    }
}

/// All at once, then some while the others sleep on what they have, then all again.
fn several_ways(lane: &mut Lane, seed: usize, barrier: &Barrier, is_least: bool) {
    const COUNT: u64 = (3 << 20) / 8;
    push(lane, seed, COUNT);
    if !is_least {
        let mut again = lane.reread().expect("nothing is wrong");
        numbers(seed, COUNT).rev().for_each(|i| assert_eq!(again.pop(), Ok(i)));
    }
    pop(lane, seed, COUNT);
    barrier.wait();
    let is_awake = seed.is_multiple_of(4);
    if !is_awake {
        push(lane, seed, COUNT);
    }
    barrier.wait();
    if is_awake {
        push(lane, seed, 2 * COUNT);
        pop(lane, seed, 2 * COUNT);
    }
    barrier.wait();
    if !is_awake {
        pop(lane, seed, COUNT);
    }
}

fn memory(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(name)).expect("a figure of this name");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<usize>().ok());
    kilobytes.expect("a number") << 10
}

/// One thread cannot wait for itself: the lane that it does not use must give.
#[test]
fn a_lane_that_sleeps_gives_its_slabs_to_another() {
    const COUNT: u64 = (1 << 20) / 8;
    let folder = folder();
    for io in [Io::Uring, Io::Threads] {
        let tape = tape(folder.path(), 64 << 10, 512 << 10, io);
        let (mut first, mut second) = (tape.lane(), tape.lane());
        push(&mut first, 0, COUNT);
        push(&mut second, 1, COUNT);
        // In the middle of a re-reading too, wherever that has come to.
        let mut again = first.reread().expect("nothing is wrong");
        for (step, number) in numbers(0, COUNT).rev().enumerate() {
            assert_eq!(again.pop(), Ok(number));
            if step % 10_000 == 0 {
                push(&mut second, 2, 20_000);
                pop(&mut second, 2, 20_000);
            }
        }
        drop(again);
        pop(&mut second, 1, COUNT);
        pop(&mut first, 0, COUNT);
        assert!(tape.peak_bytes() <= 512 << 10);
    }
}

#[test]
fn more_lanes_than_slabs_are_an_error_and_leave_the_others_alone() {
    let folder = folder();
    let tape = tape(folder.path(), 64 << 10, 256 << 10, Io::Threads);
    let mut lanes: Vec<Lane> = (0..4).map(|_| tape.lane()).collect();
    for (seed, lane) in lanes.iter_mut().enumerate() {
        push(lane, seed, 30_000);
    }
    let mut fifth = tape.lane();
    assert_eq!(fifth.push(1u64), Err(Error::Budget));
    // To read again takes a slab more.
    let fourth = &mut lanes[3];
    let mut again = fourth.reread().expect("nothing is wrong");
    let refused = numbers(3, 30_000).rev().find_map(|i| match again.pop::<u64>() {
        Ok(value) => {
            assert_eq!(value, i);
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(refused, Some(Error::Budget));
    drop(again);
    fourth.clear();
    fifth.clear();
    push(&mut fifth, 7, 30_000);
    pop(&mut fifth, 7, 30_000);
    for (seed, lane) in lanes.iter_mut().enumerate().take(3) {
        pop(lane, seed, 30_000);
    }
    assert!(tape.peak_bytes() <= 256 << 10);
}
