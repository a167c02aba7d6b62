//! Tests: the calls to the disk fail, one at a time and many, in every way and in whatever a tape does, and no sweep ever sees a wrong
//! value.

use std::io;
use std::sync::{Arc, Mutex};

use crate::disk::faulty::{self, Fault, State, When};
use crate::disk::{Buffers, Engine, Transfer};
use crate::store::OnFull;
use crate::{Error, Lane, Mark, Options, Tape};

/// Numbers that fill a slab.
const SLAB: u64 = (64 << 10) / 8;

/// What a tape does. `Ok` only if every value was right; a wrong one panics.
type Scenario = fn(&Arc<Mutex<State>>) -> Result<(), Error>;

const SCENARIOS: [(&str, Scenario); 6] = [
    ("one lane", one_lane),
    ("marks", marks),
    ("three lanes", three_lanes),
    ("a second folder", |disks| two_folders(disks, false)),
    ("a second folder, found late", |disks| two_folders(disks, true)),
    ("room again", room_again),
];

/// What is pushed as this number: mostly such that a block of them can be compressed, and some not.
fn value(number: u64) -> u64 {
    if number / SLAB % 4 == 3 { random(number) } else { number }
}

/// A number that says nothing about its neighbours (splitmix64).
fn random(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A budget of so many slabs, beside what compression needs.
fn budget(slabs: usize, disks: &Arc<Mutex<State>>) -> usize {
    let for_compression = if disks.lock().unwrap().compress { Buffers::share_of(0, 64 << 10) } else { 0 };
    slabs * (64 << 10) + for_compression
}

fn tape(slabs: usize, disks: &Arc<Mutex<State>>, folders: usize, on_full: Option<OnFull>) -> Result<Tape, Error> {
    let (budget_bytes, compress) = (budget(slabs, disks), disks.lock().unwrap().compress);
    let options = Options { slab_bytes: 64 << 10, budget_bytes, on_full, compress, ..Options::default() };
    Tape::with_engines(&options, (0..folders).map(|disk| faulty::open(disks, disk)).collect(), None)
}

fn push(lane: &mut Lane, numbers: impl Iterator<Item = u64>) -> Result<(), Error> {
    numbers.into_iter().try_for_each(|i| lane.push(value(i)))
}

fn pop(lane: &mut Lane, numbers: impl DoubleEndedIterator<Item = u64>) -> Result<(), Error> {
    numbers.rev().try_for_each(|i| lane.pop().map(|popped: u64| assert_eq!(popped, value(i))))
}

fn read_again(lane: &mut Lane, mark: Mark, numbers: impl DoubleEndedIterator<Item = u64>) -> Result<(), Error> {
    let mut again = lane.reread()?;
    again.seek(mark)?;
    numbers.rev().try_for_each(|i| again.pop().map(|popped: u64| assert_eq!(popped, value(i))))
}

/// Many numbers through a budget of four slabs: some read again, back and on, and all popped.
fn one_lane(disks: &Arc<Mutex<State>>) -> Result<(), Error> {
    const NUMBERS: u64 = 14 * SLAB;
    let tape = tape(4, disks, 1, None)?;
    let mut lane = tape.lane();
    push(&mut lane, 0..NUMBERS)?;
    let mark = lane.mark();
    push(&mut lane, 0..NUMBERS / 4)?;
    read_again(&mut lane, mark, NUMBERS / 2..NUMBERS)?;
    lane.rewind(mark)?;
    pop(&mut lane, NUMBERS / 2..NUMBERS)?;
    push(&mut lane, NUMBERS / 2 + 1..=NUMBERS)?;
    pop(&mut lane, NUMBERS / 2 + 1..=NUMBERS)?;
    pop(&mut lane, 0..NUMBERS / 2)?;
    assert_eq!(lane.pop::<u64>(), Err(Error::Empty));
    assert!(tape.peak_bytes() <= budget(4, disks));
    Ok(())
}

/// As a sweep with checkpoints goes: again and again to a mark, a part from there, and back.
fn marks(disks: &Arc<Mutex<State>>) -> Result<(), Error> {
    let tape = tape(4, disks, 1, None)?;
    let mut lane = tape.lane();
    let mut marks = Vec::new();
    for part in 0..6 {
        marks.push(lane.mark());
        push(&mut lane, part * 2 * SLAB..(part + 1) * 2 * SLAB)?;
    }
    while let Some(mark) = marks.pop() {
        let begin = marks.len() as u64 * 2 * SLAB;
        read_again(&mut lane, mark, begin.saturating_sub(3 * SLAB)..begin)?;
        pop(&mut lane, begin + SLAB..begin + 2 * SLAB)?;
        push(&mut lane, 0..3 * SLAB)?;
        lane.rewind(mark)?;
    }
    assert_eq!(lane.position(), 0);
    Ok(())
}

/// Lanes that take each other's slabs. What goes wrong for one leaves the others right or with an error.
fn three_lanes(disks: &Arc<Mutex<State>>) -> Result<(), Error> {
    let tape = tape(6, disks, 1, None)?;
    let mut lanes = [(); 3].map(|()| tape.lane());
    let mut result = Ok(());
    for step in 0..4 {
        for (lane, seed) in lanes.iter_mut().zip([0, 1 << 32, 2 << 32]) {
            result = result.and(push(lane, seed + step * 2 * SLAB..seed + (step + 1) * 2 * SLAB));
        }
    }
    let [first, second, third] = &mut lanes;
    let mark = first.mark();
    result = result.and(read_again(first, mark, 4 * SLAB..8 * SLAB));
    result = result.and(pop(third, (2 << 32)..(2 << 32) + 8 * SLAB));
    result = result.and(push(third, 0..3 * SLAB));
    result = result.and(pop(second, (1 << 32)..(1 << 32) + 8 * SLAB));
    result = result.and(pop(first, 0..8 * SLAB));
    result = result.and(pop(third, 0..3 * SLAB));
    assert!(tape.peak_bytes() <= budget(6, disks));
    result
}

/// The first disk has room for five blocks; found beforehand, or by the writes.
fn two_folders(disks: &Arc<Mutex<State>>, is_blind: bool) -> Result<(), Error> {
    limit(disks, Some(5), is_blind);
    let tape = tape(4, disks, 2, None)?;
    let mut lane = tape.lane();
    push(&mut lane, 0..14 * SLAB)?;
    pop(&mut lane, 3 * SLAB..14 * SLAB)?;
    push(&mut lane, 0..10 * SLAB)?;
    pop(&mut lane, 0..10 * SLAB)?;
    pop(&mut lane, 0..3 * SLAB)
}

/// Somebody makes room on a full disk, once.
fn room_again(disks: &Arc<Mutex<State>>) -> Result<(), Error> {
    limit(disks, Some(3), true);
    let shared = Arc::clone(disks);
    let on_full = OnFull::new(move |_| {
        let mut state = shared.lock().unwrap();
        state.limit.take().is_some()
    });
    let tape = tape(4, disks, 1, Some(on_full))?;
    let mut lane = tape.lane();
    push(&mut lane, 0..12 * SLAB)?;
    pop(&mut lane, 0..12 * SLAB)
}

fn limit(disks: &Arc<Mutex<State>>, blocks: Option<usize>, is_blind: bool) {
    let mut state = disks.lock().unwrap();
    state.limit = blocks.map(|blocks| (0, blocks * (64 << 10)));
    state.is_blind = is_blind;
}

fn with(scenario: Scenario, compress: bool, fault: Option<(When, Fault)>) -> (Result<(), Error>, State) {
    let disks = Arc::new(Mutex::new(State { fault, compress, ..State::default() }));
    let result = scenario(&disks);
    let state = std::mem::take(&mut *disks.lock().unwrap());
    (result, state)
}

/// What each fault may lead to.
const OUTCOMES: [(Fault, &[Result<(), Error>]); 9] = [
    (Fault::Errno(libc::EIO), &[Err(Error::Disk { errno: libc::EIO }), Ok(())]),
    (Fault::Errno(libc::ENOSPC), &[Err(Error::DiskFull), Ok(())]),
    (Fault::Errno(libc::EINTR), &[Ok(())]),
    (Fault::Short(0), &[Err(Error::DiskFull), Err(Error::Disk { errno: libc::EIO }), Ok(())]),
    (Fault::Short(5), &[Err(Error::DiskFull), Err(Error::Disk { errno: libc::EIO }), Ok(())]),
    (Fault::Short(4096), &[Ok(())]),
    (Fault::Short(10_000), &[Ok(())]),
    (Fault::Flip(77), &[Err(Error::Corrupt), Ok(())]),
    (Fault::Lost, &[Err(Error::Corrupt), Err(Error::Stale), Ok(())]),
];

#[test]
fn thousands_of_faults_and_no_wrong_value() {
    inject(false);
}

#[test]
fn thousands_of_faults_of_compressed_blocks_and_no_wrong_value() {
    inject(true);
}

fn inject(compress: bool) {
    let mut faults = 0;
    for (name, scenario) in SCENARIOS {
        let (result, healthy) = with(scenario, compress, None);
        assert_eq!(result, Ok(()), "{name}");
        assert!(healthy.calls > 20, "{name}: {} calls", healthy.calls);
        let mut seen = [0; OUTCOMES.len()];
        // Each call alone, and then many of one run.
        // Every third is enough of those that take longer.
        let step = if compress { 3 } else { 1 };
        let single = (1..=healthy.calls).step_by(step).map(When::Once);
        for when in single.chain([2, 3, 7, 20].map(When::Every)) {
            for ((fault, allowed), seen) in OUTCOMES.iter().zip(&mut seen) {
                let (result, state) = with(scenario, compress, Some((when, *fault)));
                assert!(state.met > 0 && allowed.contains(&result), "{name}, {when:?}, {fault:?}: {result:?}");
                faults += state.met;
                *seen += usize::from(result.is_err());
            }
        }
        for ((fault, allowed), errors) in OUTCOMES.iter().zip(seen) {
            assert_eq!(errors > 0, allowed.len() > 1, "{name}: {fault:?} led to {errors} errors");
        }
    }
    println!("{faults} faults, and each was an error or did no harm");
    assert!(faults >= 1000, "{faults} faults only");
}

/// Bits change in the file between a push and its pop, wherever it is: in frames, their lengths, what fills the sector, seals, holes.
#[test]
fn changed_bits_of_compressed_blocks_are_noticed() {
    let mut random = 1u64;
    let mut noticed = 0;
    for round in 0..400 {
        let disks = Arc::new(Mutex::new(State { compress: true, ..State::default() }));
        let tape = tape(4, &disks, 1, None).unwrap();
        let mut lane = tape.lane();
        push(&mut lane, 0..14 * SLAB).unwrap();
        let stats = lane.stats();
        assert!(stats.bytes_saved > stats.bytes_written && stats.times_given_up == 0, "{stats:?}");
        {
            let file = &mut disks.lock().unwrap().files[0];
            for _ in 0..1 + round % 5 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Half of them near the beginning of a block, where its frames are.
                let at = (random >> 33) as usize % file.len();
                let at = if random >> 20 & 1 == 0 { at } else { at - at % (64 << 10) + at % 4096 };
                let at = at.min(file.len() - 1);
                file[at] ^= 1 << (random >> 24 & 7);
            }
        }
        match pop(&mut lane, 0..14 * SLAB) {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error, Error::Corrupt);
                noticed += 1;
            }
        }
    }
    assert!(noticed > 150, "{noticed}");
}

/// What cannot be compressed is written as it is, and soon without a try.
#[test]
fn compression_is_given_up_and_tried_again() {
    let disks = Arc::new(Mutex::new(State { compress: true, ..State::default() }));
    let tape = tape(4, &disks, 1, None).unwrap();
    let mut lane = tape.lane();
    let count = 40 * SLAB;
    (0..count).for_each(|i| lane.push(random(i)).unwrap());
    let before = lane.stats();
    assert_eq!((before.bytes_saved, before.times_given_up), (0, 1));
    assert!(before.bytes_written >= 30 * (64 << 10));
    // Some hundred blocks later it is tried again, and zeros are compressed again.
    (0..600 * SLAB).for_each(|_| lane.push(0u64).unwrap());
    assert!(lane.stats().bytes_saved > 50 * (60 << 10), "{:?}", lane.stats());
    (0..600 * SLAB).for_each(|_| assert_eq!(lane.pop(), Ok(0u64)));
    (0..count).rev().for_each(|i| assert_eq!(lane.pop(), Ok(random(i))));
    assert_eq!(lane.stats().times_given_up, 1);
}

#[test]
fn an_endlessly_interrupted_disk_is_an_error() {
    let options = Options { slab_bytes: 64 << 10, budget_bytes: 256 << 10, ..Options::default() };
    let tape = Tape::with_engines(&options, vec![Arc::new(|| Ok(Box::new(Interrupted::default())))], None).unwrap();
    let mut lane = tape.lane();
    let result = (0..14 * SLAB).try_for_each(|i| lane.push(i));
    assert_eq!(result, Err(Error::Disk { errno: libc::EINTR }));
}

/// Every transfer is interrupted.
#[derive(Default)]
struct Interrupted {
    waiting: Vec<Transfer>,
}

impl Engine for Interrupted {
    fn reserve(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn start(&mut self, transfer: Transfer) {
        self.waiting.push(transfer);
    }

    fn finish(&mut self, _: bool) -> Option<(Transfer, io::Result<usize>)> {
        Some((self.waiting.pop()?, Err(io::Error::from_raw_os_error(libc::EINTR))))
    }
}
