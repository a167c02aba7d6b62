//! The least that reversing a loop can cost, for the tests: a search through everything that can be done, which knows nothing of
//! how schedules are built. Only for a dozen steps or so.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// How much may be kept at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) memory: usize,
    pub(super) disk: usize,
    /// Whether slots in memory may also keep what the reverse of a step needs.
    pub(super) records: bool,
}

/// What each thing costs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Price {
    pub(super) step: u64,
    pub(super) memory_write: u64,
    pub(super) memory_read: u64,
    pub(super) disk_write: u64,
    pub(super) disk_read: u64,
}

/// Where a reversal stands. Sets have a bit for each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Place {
    left: u32,
    hand: Option<u32>,
    memory: u32,
    disk: u32,
    records: u32,
}

/// The least cost of reversing so many steps.
pub(super) fn search(steps: usize, limits: Limits, price: Price) -> u64 {
    let steps = steps as u32;
    let start = Place { left: steps, hand: Some(0), memory: 0, disk: 0, records: 0 };
    let mut known = HashMap::from([(start, 0)]);
    let mut queue = BinaryHeap::from([(Reverse(0), start)]);
    while let Some((Reverse(cost), place)) = queue.pop() {
        if place.left == 0 {
            return cost;
        }
        if cost > known[&place] {
            continue;
        }
        moves(place, limits, price, |next, more| {
            // What is above the last step that is left is of no use.
            let useful = (1 << next.left) - 1;
            let next = Place {
                memory: next.memory & useful,
                disk: next.disk & useful,
                records: next.records & useful,
                ..next
            };
            let found = known.entry(next).or_insert(u64::MAX);
            if cost + more < *found {
                *found = cost + more;
                queue.push((Reverse(cost + more), next));
            }
        });
    }
    unreachable!("a loop can always be reversed if a slot is there")
}

/// All that can be done next, and what it costs.
fn moves(place: Place, limits: Limits, price: Price, mut go: impl FnMut(Place, u64)) {
    let Place { left, hand, memory, disk, records } = place;
    let has_memory = ((memory.count_ones() + records.count_ones()) as usize) < limits.memory;
    let has_disk = (disk.count_ones() as usize) < limits.disk;
    if let Some(at) = hand {
        if has_memory && memory >> at & 1 == 0 {
            go(Place { memory: memory | 1 << at, ..place }, price.memory_write);
        }
        if has_disk && disk >> at & 1 == 0 {
            go(Place { disk: disk | 1 << at, ..place }, price.disk_write);
        }
        if at + 1 < left {
            go(Place { hand: Some(at + 1), ..place }, price.step);
            if limits.records && has_memory && records >> at & 1 == 0 {
                go(Place { hand: Some(at + 1), records: records | 1 << at, ..place }, price.step);
            }
        } else {
            go(Place { left: at, hand: None, ..place }, price.step);
        }
    }
    if records >> (left - 1) & 1 == 1 {
        go(Place { left: left - 1, hand: hand.filter(|at| *at < left - 1), ..place }, 0);
    }
    for step in 0..left {
        let bit = 1 << step;
        if memory & bit != 0 {
            go(Place { hand: Some(step), ..place }, price.memory_read);
            go(Place { memory: memory & !bit, ..place }, 0);
        }
        if disk & bit != 0 {
            go(Place { hand: Some(step), ..place }, price.disk_read);
            go(Place { disk: disk & !bit, ..place }, 0);
        }
        if records & bit != 0 {
            go(Place { records: records & !bit, ..place }, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::super::Revolve;
    use super::*;

    #[test]
    fn the_search_finds_the_binomial_optimum() {
        for (memory, steps) in [(1, 8), (2, 10), (3, 11)] {
            let slots = NonZeroUsize::new(memory).expect("not zero");
            let best = search(steps, Limits { memory, disk: 0, records: false }, Price { step: 1, ..Price::default() });
            assert_eq!(u128::from(best), Revolve::advances(steps as u64, slots) + steps as u128);
        }
    }
}
