//! The race detector against a naive model, on random sequences.
//!
//! The model keeps for each thread the set of all accesses that come before whatever the thread does next: its own,
//! and those it learns of when it synchronises. Two conflicting accesses race if the earlier one is not in the set
//! of the later one's thread. Nothing is forgotten and nothing is compressed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::super::{Access, AccessKind, Checker, Code, Options, SharedMemory, Site};
use super::{DEVICE, STATIC_SHARED, allocate_filled};

/// Threads that take part: four lanes of warp 0 and two of warp 1.
const THREADS: [u32; 6] = [0, 1, 2, 3, 32, 33];

#[derive(Clone, Copy, Debug)]
enum Step {
    Access { thread: usize, kind: AccessKind, offset: usize, size: usize, shared: bool },
    Barrier,
    WarpSync { warp: u32, lanes: u32 },
    NextBlock,
    NextLaunch,
}

/// An access as the model sees it.
struct Event {
    launch: usize,
    block: usize,
    thread: usize,
    kind: AccessKind,
    shared: bool,
    bytes: std::ops::Range<usize>,
}

fn access(offsets: usize) -> impl Strategy<Value = Step> {
    let kinds = [AccessKind::Read, AccessKind::Write, AccessKind::Atomic, AccessKind::CachedRead];
    let kind = prop::sample::select(kinds.to_vec());
    let size = prop_oneof![8 => Just(4usize), 1 => Just(1), 1 => Just(2), 1 => Just(8)];
    (0..THREADS.len(), kind, 0..offsets, size, any::<bool>()).prop_map(|(thread, kind, offset, size, shared)| {
        // Shared memory is not cached.
        let shared = shared && kind != AccessKind::CachedRead;
        Step::Access { thread, kind, offset: offset * 4 / size * size, size, shared }
    })
}

/// Sequences with warp synchronisations over masks from `masks`. Few locations make conflicts likely.
fn steps(masks: BoxedStrategy<u32>) -> impl Strategy<Value = Vec<Step>> {
    let sync = (0..2u32, masks).prop_map(|(warp, lanes)| Step::WarpSync { warp, lanes });
    let step = prop_oneof![
        16 => access(2),
        2 => Just(Step::Barrier),
        4 => sync,
        1 => Just(Step::NextBlock),
        1 => Just(Step::NextLaunch),
    ];
    prop::collection::vec(step, 1..60)
}

/// All racing pairs of accesses, as (earlier, later) indexes of steps.
fn model(steps: &[Step]) -> (BTreeMap<usize, Event>, BTreeSet<(usize, usize)>) {
    let mut events: BTreeMap<usize, Event> = BTreeMap::new();
    let mut races = BTreeSet::new();
    let mut known: [BTreeSet<usize>; 6] = Default::default();
    let (mut launch, mut block) = (0, 0);
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Access { thread, kind, offset, size, shared } => {
                let event = Event { launch, block, thread, kind, shared, bytes: offset..offset + size };
                let is_cached = |other: &Event| [other.kind, kind].contains(&AccessKind::CachedRead);
                let unordered = |it: &usize, other: &Event| is_cached(other) || !known[thread].contains(it);
                let races_with = events.iter().filter(|(it, other)| conflicts(other, &event) && unordered(it, other));
                races.extend(races_with.map(|(other, _)| (*other, index)));
                events.insert(index, event);
                known[thread].insert(index);
            }
            Step::Barrier => join(&mut known, |_| true),
            Step::WarpSync { warp, lanes } => {
                join(&mut known, |thread| thread / 32 == warp && lanes >> (thread % 32) & 1 == 1);
            }
            Step::NextBlock => {
                block += 1;
                known = Default::default();
            }
            Step::NextLaunch => {
                launch += 1;
                block += 1;
                known = Default::default();
            }
        }
    }
    (events, races)
}

fn join(known: &mut [BTreeSet<usize>; 6], takes_part: impl Fn(u32) -> bool) {
    let members: Vec<usize> = (0..THREADS.len()).filter(|index| takes_part(THREADS[*index])).collect();
    let all: BTreeSet<usize> = members.iter().flat_map(|member| known[*member].iter().copied()).collect();
    for member in members {
        known[member] = all.clone();
    }
}

fn conflicts(a: &Event, b: &Event) -> bool {
    let overlap = a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end;
    let same_memory = a.shared == b.shared && (!a.shared || a.block == b.block);
    let is_cached = [a.kind, b.kind].contains(&AccessKind::CachedRead);
    let different_threads = (a.block, a.thread) != (b.block, b.thread) || is_cached;
    let both_read = a.kind.is_read() && b.kind.is_read();
    let write = a.kind == AccessKind::Write || b.kind == AccessKind::Write || (a.kind != b.kind && !both_read);
    a.launch == b.launch && same_memory && overlap && different_threads && write
}

/// Which sites the accesses have. With sites of their own, findings name the pair; with common ones, accesses of
/// several lanes share records.
#[derive(Clone, Copy, Debug)]
enum Sites {
    Own,
    Common,
}

/// A race that the checker found: indexes of steps, the earlier one if it is known exactly.
struct Race {
    earlier: Option<usize>,
    later: usize,
}

fn detect(steps: &[Step], sites: Sites) -> Vec<Race> {
    let mut checker = Checker::new(Options { max_findings: usize::MAX, ..Options::default() });
    allocate_filled(&mut checker, DEVICE, 64, Site::Unknown);
    let shared = || SharedMemory { static_range: STATIC_SHARED..STATIC_SHARED + 64, ..SharedMemory::default() };
    let launch = |checker: &mut Checker| checker.begin_launch("kernel", [9, 1, 1], [64, 1, 1], Site::Unknown);
    launch(&mut checker);
    checker.begin_block([0; 3], shared());
    let mut found = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        match *step {
            Step::Access { thread, kind, offset, size, shared } => {
                let address = if shared { STATIC_SHARED } else { DEVICE } + offset;
                let site = match sites {
                    Sites::Own => Site::Address(index + 1),
                    Sites::Common => Site::Address(kind as usize),
                };
                let before = occurrences(&checker);
                let _ = checker.access(THREADS[thread], Access { address, size, kind, alignment: size, site });
                if occurrences(&checker) > before {
                    found.push(Race { earlier: earlier_step(&checker, sites), later: index });
                }
            }
            Step::Barrier => checker.barrier(),
            Step::WarpSync { warp, lanes } => checker.warp_sync(warp, lanes),
            Step::NextBlock => {
                checker.end_block();
                checker.begin_block([1, 0, 0], shared());
            }
            Step::NextLaunch => {
                checker.end_launch();
                launch(&mut checker);
                checker.begin_block([0; 3], shared());
            }
        }
    }
    found
}

/// How often a race was found so far.
fn occurrences(checker: &Checker) -> u64 {
    let races = checker.findings().list().iter().filter(|it| it.code != Code::UninitialisedShared);
    races.map(|it| it.count).sum()
}

/// The earlier step of the newest finding, if the checker is sure of it.
fn earlier_step(checker: &Checker, sites: Sites) -> Option<usize> {
    let newest = checker.findings().list().last()?;
    match (sites, newest.primary.site) {
        (Sites::Own, Site::Address(address)) if newest.primary.remark.is_empty() => Some(address - 1),
        _ => None,
    }
}

/// Nothing is reported that is no race.
fn check_sound(steps: &[Step]) -> Result<(), TestCaseError> {
    let (_, races) = model(steps);
    for sites in [Sites::Own, Sites::Common] {
        for Race { earlier, later } in detect(steps, sites) {
            let real = match earlier {
                Some(earlier) => races.contains(&(earlier, later)),
                None => races.iter().any(|(_, it)| *it == later),
            };
            prop_assert!(real, "{sites:?}: step {later} does not race with step {earlier:?}");
        }
    }
    Ok(())
}

/// The first access to a byte that races with an earlier one is reported.
fn check_complete(steps: &[Step]) -> Result<(), TestCaseError> {
    let (events, races) = model(steps);
    let mut by_time: Vec<(usize, usize)> = races.into_iter().collect();
    by_time.sort_by_key(|(earlier, later)| (*later, *earlier));
    for sites in [Sites::Own, Sites::Common] {
        let found: BTreeSet<usize> = detect(steps, sites).into_iter().map(|race| race.later).collect();
        let mut seen = BTreeSet::new();
        for (earlier, later) in &by_time {
            let (first, second) = (&events[earlier], &events[later]);
            let overlap = first.bytes.start.max(second.bytes.start)..first.bytes.end.min(second.bytes.end);
            let block = second.shared.then_some(second.block);
            let new_bytes = overlap.filter(|byte| seen.insert((second.launch, second.shared, block, *byte))).count();
            let expected = new_bytes > 0;
            prop_assert!(
                !expected || found.contains(later),
                "{sites:?}: step {later} races with step {earlier}, not reported"
            );
        }
    }
    Ok(())
}

/// Keeps the first warp synchronisation of each phase.
fn one_sync_a_phase(mut steps: Vec<Step>) -> Vec<Step> {
    let mut synchronised = false;
    steps.retain(|step| match step {
        Step::WarpSync { .. } => !std::mem::replace(&mut synchronised, true),
        Step::Access { .. } => true,
        Step::Barrier | Step::NextBlock | Step::NextLaunch => {
            synchronised = false;
            true
        }
    });
    steps
}

fn any_mask() -> BoxedStrategy<u32> {
    prop_oneof![Just(u32::MAX), 0..16u32].boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reports_are_races_of_the_model(steps in steps(any_mask())) {
        check_sound(&steps)?;
    }

    #[test]
    fn first_race_of_each_byte_is_reported_with_full_masks(steps in steps(Just(u32::MAX).boxed())) {
        check_complete(&steps)?;
    }

    #[test]
    fn first_race_of_each_byte_is_reported_with_a_partial_mask_a_phase(steps in steps(any_mask())) {
        check_complete(&one_sync_a_phase(steps))?;
    }
}
