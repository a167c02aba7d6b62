//! Tests of the two-level schedule: the table against a search through everything, the blocks against the table.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use super::super::search::{Limits, Price, search};
use super::super::{Counts, Revolve, numbers};
use super::*;

/// In halves of a step, so that the search may count in whole numbers. Disk costs at least as much as memory.
const COSTS: [[u64; 4]; 7] =
    [[0, 0, 0, 0], [0, 0, 4, 4], [0, 0, 10, 2], [1, 1, 6, 6], [2, 1, 3, 9], [0, 0, 40, 40], [1, 0, 25, 1]];

/// Disk costs less, at least to read.
const REVERSED_COSTS: [[u64; 4]; 2] = [[4, 6, 1, 1], [0, 8, 6, 1]];

fn costs(halves: [u64; 4]) -> Costs {
    let [memory_write, memory_read, disk_write, disk_read] = halves.map(|cost| cost as f64 / 2.0);
    Costs { memory_write, memory_read, disk_write, disk_read }
}

/// What a run took, in halves of a step.
fn halves(counts: Counts, [memory_write, memory_read, disk_write, disk_read]: [u64; 4]) -> u64 {
    let Counts { memory, disk, .. } = counts;
    let memory = memory.writes * memory_write + memory.reads * memory_read;
    2 * counts.steps() + memory + disk.writes * disk_write + disk.reads * disk_read
}

fn exact(steps: u64, memory: usize, disk: usize, prices: [u64; 4]) -> u64 {
    let schedule = TwoLevel::new(steps, memory, disk, costs(prices)).expect("good numbers");
    assert!(matches!(schedule.plan, Plan::Exact(_)));
    halves(numbers::reverse(schedule, steps), prices)
}

fn in_blocks(steps: u64, memory: usize, disk: usize, prices: [u64; 4]) -> u64 {
    let blocks = Blocks::new(steps, memory, disk, costs(prices));
    let schedule = TwoLevel { memory, disk, plan: Plan::Blocks(blocks) };
    halves(numbers::reverse(schedule, steps), prices)
}

#[test]
fn nothing_that_can_be_done_is_cheaper() {
    // The number of steps, and of slots in memory and on disk.
    let sizes = [
        (12, 1, 1),
        (10, 2, 1),
        (10, 1, 2),
        (8, 2, 2),
        (7, 3, 3),
        (9, 3, 1),
        (12, 0, 2),
        (12, 3, 0),
        (9, 0, 8),
        (8, 1, 7),
    ];
    for prices in COSTS.into_iter().chain(REVERSED_COSTS) {
        let [memory_write, memory_read, disk_write, disk_read] = prices;
        let price = Price { step: 2, memory_write, memory_read, disk_write, disk_read };
        for (most, memory, disk) in sizes {
            for steps in [most - 3, most] {
                let best = search(steps, Limits { memory, disk, records: false }, price);
                assert_eq!(exact(steps as u64, memory, disk, prices), best, "{steps}, {memory}, {disk}, {prices:?}");
            }
        }
    }
}

#[test]
fn without_costs_it_is_the_binomial_schedule() {
    for (memory, disk) in [(3, 0), (0, 3), (2, 1), (1, 4)] {
        let slots = NonZeroUsize::new(memory + disk).expect("some");
        for steps in [1, 2, 17, 150, 400] {
            let best = Revolve::advances(steps, slots) as u64 + steps;
            assert_eq!(exact(steps, memory, disk, [0; 4]), 2 * best, "{steps}, {memory}, {disk}");
        }
    }
}

/// The largest factor between blocks and the table, for loops of up to 500 steps.
fn worst_factor(prices: &[[u64; 4]]) -> f64 {
    const MANY: usize = 1000;
    let slots = [
        (1, 1),
        (1, MANY),
        (2, 3),
        (3, MANY),
        (3, 10),
        (5, 1),
        (5, MANY),
        (10, 3),
        (10, MANY),
        (0, 5),
        (0, MANY),
        (4, 0),
    ];
    let mut worst: f64 = 1.0;
    for prices in prices {
        for (memory, disk) in slots {
            for steps in [40, 100, 300, 500] {
                let (blocks, best) = (in_blocks(steps, memory, disk, *prices), exact(steps, memory, disk, *prices));
                assert!(blocks >= best, "{steps}, {memory}, {disk}, {prices:?}");
                worst = worst.max(blocks as f64 / best as f64);
            }
        }
    }
    worst
}

#[test]
fn blocks_cost_at_most_15_percent_more_than_the_best() {
    let worst = worst_factor(&COSTS);
    assert!((1.0..1.15).contains(&worst), "{worst}");
}

#[test]
fn where_the_disk_costs_less_than_memory_blocks_cost_at_most_65_percent_more() {
    let worst = worst_factor(&REVERSED_COSTS);
    assert!((1.0..1.65).contains(&worst), "{worst}");
}

#[test]
fn a_million_steps_cost_about_as_much_each_as_two_thousand() {
    for (memory, prices) in [(3, [0, 0, 10, 2]), (10, [1, 1, 6, 6]), (5, [0, 0, 40, 40])] {
        let short = exact(2000, memory, usize::MAX, prices) as f64 / 2000.0;
        let many = TwoLevel::new(1_000_000, memory, usize::MAX, costs(prices)).expect("good numbers");
        let long = halves(numbers::reverse(many, 1_000_000), prices) as f64 / 1e6;
        assert!(long < 1.1 * short, "{memory}, {prices:?}: {long}, {short}");
    }
    // With few slots on disk too, never more than without a disk.
    let few = TwoLevel::new(1_000_000, 5, 10, costs([0, 0, 10, 10])).expect("good numbers");
    let all = halves(numbers::reverse(few, 1_000_000), [0, 0, 10, 10]);
    let without = Revolve::advances(1_000_000, NonZeroUsize::new(5).expect("not zero")) as u64;
    assert!(all < without, "{all}, {without}");
}

#[test]
fn numbers_that_are_no_costs_or_no_slots_are_errors() {
    assert_eq!(TwoLevel::new(10, 0, 0, Costs::default()).err(), Some(Error::Slots));
    for bad in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
        for costs in [
            Costs { memory_write: bad, ..Costs::default() },
            Costs { memory_read: bad, ..Costs::default() },
            Costs { disk_write: bad, ..Costs::default() },
            Costs { disk_read: bad, ..Costs::default() },
        ] {
            assert_eq!(TwoLevel::new(10, 2, 2, costs).err(), Some(Error::Slots));
        }
    }
}

#[test]
fn the_largest_numbers_are_no_larger_than_others() {
    let start = Instant::now();
    let most = [0, 1, 20, usize::MAX];
    let dear = Costs { disk_write: 1e9, disk_read: 1e9, ..Costs::default() };
    for (memory, disk) in most.iter().flat_map(|memory| most.map(|disk| (*memory, disk))).skip(1) {
        for (steps, costs) in [(u64::MAX, costs([1, 1, 20, 20])), (u64::MAX, dear), (1 << 40, Costs::default())] {
            let schedule = TwoLevel::new(steps, memory, disk, costs).expect("good numbers");
            assert_eq!(schedule.take(100).count(), 100, "{steps}, {memory}, {disk}");
        }
        for steps in [0, 1, 2, 3] {
            numbers::reverse(TwoLevel::new(steps, memory, disk, dear).expect("good numbers"), steps);
        }
    }
    // The largest tables.
    for (steps, memory, disk) in [(90, 88, 88), (8192, usize::MAX, usize::MAX), (2400, 10, usize::MAX)] {
        let schedule = TwoLevel::new(steps, memory, disk, costs([0, 0, 10, 10])).expect("good numbers");
        assert!(matches!(schedule.plan, Plan::Exact(_)));
        numbers::reverse(schedule, steps);
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}
