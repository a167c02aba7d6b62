//! The mixed schedule (Maddison, 2024): a slot keeps either a state or what the reverse of a step needs, its record. A recorded
//! step is reversed without being run again, so where the steps that are left fit into the slots, each is run once.
//!
//! `best(n, s)`, the fewest steps to run for `n` steps with `s` slots that are free, is `n` where `n <= s + 1`: all but the last
//! are recorded, which needs no slot. Otherwise a state is kept, and the steps before and after the next kept one are
//! independent: `min over m of m + best(m, s) + best(n - m, s - 1)`. Keeping a record there is never better; the tests search
//! all that can be done for small numbers. The minimum is in a table up to 256 steps; beyond, parts are as the binomial
//! schedule has them, and parts of these are in the table.

use std::num::NonZeroUsize;

use super::revolve::split;
use super::{Action, Level, Schedule};

/// The most steps in the table.
const EXACT: u64 = 256;

/// Actions that reverse a given number of steps, with slots for states or records. No schedule runs fewer steps up to a length of
/// 256; longer loops take at most 2 % more than the optimum, where that was computed (to 1500). Memory: one entry a slot in
/// use, and a table of at most 128 KB.
#[derive(Clone, Debug)]
pub struct Mixed {
    slots: usize,
    table: Table,
    /// What is in the slots, slot 0 first.
    kept: Vec<Kept>,
    /// The state in hand.
    hand: Option<u64>,
    /// How many steps are not reversed yet.
    left: u64,
    /// To be given before anything else is decided.
    next: Option<Action>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    State(u64),
    Record,
}

impl Mixed {
    /// The schedule for so many steps and slots. State 0 takes a slot if it is kept.
    pub fn new(steps: u64, slots: NonZeroUsize) -> Self {
        let table = Table::new(steps, slots.get() as u64, EXACT);
        Self { slots: slots.get(), table, kept: Vec::new(), hand: Some(0), left: steps, next: None }
    }

    /// What to do with a state in hand that is `from`, which may be in the slot on top.
    fn from(&mut self, from: u64) -> Action {
        let steps = self.left - from;
        let is_kept = self.kept.last() == Some(&Kept::State(from));
        // With the slot of the state itself.
        let slots = (self.slots - self.kept.len() + usize::from(is_kept)) as u64;
        if steps - 1 <= slots {
            if is_kept {
                return self.free();
            }
            self.hand = (steps > 1).then_some(from + 1);
            if steps == 1 {
                self.left -= 1;
                return Action::Reverse { step: from };
            }
            self.kept.push(Kept::Record);
            return Action::StoreRecord { step: from, level: Level::Memory, slot: self.kept.len() - 1 };
        }
        if is_kept {
            let middle = from + self.table.split(steps, slots);
            self.hand = Some(middle);
            return Action::Advance { from, to: middle };
        }
        self.kept.push(Kept::State(from));
        Action::Store { step: from, level: Level::Memory, slot: self.kept.len() - 1 }
    }

    fn free(&mut self) -> Action {
        self.kept.pop();
        Action::Free { level: Level::Memory, slot: self.kept.len() }
    }
}

impl Iterator for Mixed {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        if let Some(action) = self.next.take() {
            return Some(action);
        }
        if self.left == 0 {
            return None;
        }
        if let Some(hand) = self.hand {
            return Some(self.from(hand));
        }
        let slot = self.kept.len().checked_sub(1)?;
        Some(match self.kept[slot] {
            Kept::Record => {
                self.left -= 1;
                self.next = Some(self.free());
                Action::ReverseRecord { step: self.left, level: Level::Memory, slot }
            }
            Kept::State(step) => {
                self.hand = Some(step);
                Action::Restore { step, level: Level::Memory, slot }
            }
        })
    }
}

impl Schedule for Mixed {
    fn slots(&self, level: Level) -> usize {
        match level {
            Level::Memory => self.slots,
            Level::Disk => 0,
        }
    }
}

/// How far to advance before the next state is kept.
#[derive(Clone, Debug)]
struct Table {
    /// The most steps that are in it.
    steps: usize,
    /// For 2, 3 and more slots, `steps + 1` entries each.
    splits: Vec<u16>,
}

impl Table {
    /// For parts of at most so many steps, and of at most `exact`.
    fn new(steps: u64, slots: u64, exact: u64) -> Self {
        // Where all steps can be recorded, nothing is divided.
        let steps = if steps <= slots { 0 } else { steps.min(exact) as usize };
        // With more slots than these all steps of the table are recorded.
        let slots = slots.min(steps.saturating_sub(2) as u64) as usize;
        let mut splits = Vec::new();
        let mut fewer: Vec<u32> = (0..=steps as u32).map(|steps| (steps * (steps + 1) / 2).max(2) - 1).collect();
        for slots in 2..=slots {
            let mut best: Vec<u32> = (0..=steps as u32).collect();
            let mut row = vec![0; steps + 1];
            for steps in slots + 2..=steps {
                let cost = |middle: usize| middle as u32 + best[middle] + fewer[steps - middle];
                // The last of the best ones leaves least to be kept after it.
                let middle = (1..steps).rev().min_by_key(|middle| cost(*middle)).unwrap_or(1);
                row[steps] = middle as u16;
                best[steps] = cost(middle);
            }
            splits.append(&mut row);
            fewer = best;
        }
        Self { steps, splits }
    }

    /// For more steps than can be recorded; one of the slots is that of the state from which they begin.
    fn split(&self, steps: u64, slots: u64) -> u64 {
        if slots < 2 || steps > self.steps as u64 {
            return split(steps, slots);
        }
        u64::from(self.splits[(slots as usize - 2) * (self.steps + 1) + steps as usize])
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::search::{Limits, Price, search};
    use super::super::{Revolve, numbers};
    use super::*;

    fn slots(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).expect("not zero")
    }

    fn steps_run(steps: u64, count: usize) -> u64 {
        numbers::reverse(Mixed::new(steps, slots(count)), steps).steps()
    }

    #[test]
    fn nothing_that_can_be_done_runs_fewer_steps() {
        for (count, most) in [(1, 12), (2, 11), (3, 10), (4, 8)] {
            for steps in 1..=most {
                let limits = Limits { memory: count, disk: 0, records: true };
                let best = search(steps, limits, Price { step: 1, ..Price::default() });
                assert_eq!(steps_run(steps as u64, count), best, "{steps} steps, {count} slots");
            }
        }
    }

    #[test]
    fn records_are_of_no_use_where_not_all_steps_fit() {
        const STEPS: usize = 150;
        let mut fewer: Vec<u64> = (0..=STEPS as u64).map(|steps| (steps * (steps + 1) / 2).max(2) - 1).collect();
        for count in 2..=20 {
            let mut best: Vec<u64> = (0..=STEPS as u64).collect();
            for steps in 2..=STEPS {
                let divided = (1..steps).map(|middle| middle as u64 + best[middle] + fewer[steps - middle]);
                best[steps] = divided.chain([1 + fewer[steps - 1]]).min().expect("there is a choice");
                assert_eq!(steps_run(steps as u64, count), best[steps], "{steps} steps, {count} slots");
            }
            fewer = best;
        }
    }

    #[test]
    fn known_figures_are_met() {
        assert_eq!(steps_run(100, 5), 352);
        assert_eq!(steps_run(100, 99), 100);
        // One step more than can be recorded: the first two are run again.
        assert_eq!(steps_run(101, 99), 101 + 2);
        assert_eq!(steps_run(100, 1), 100 * 101 / 2 - 1);
    }

    #[test]
    fn the_binomial_schedule_is_never_better() {
        for steps in (1..600).step_by(7).chain([5000, 100_000]) {
            for count in [1, 2, 3, 5, 10, 50, 400] {
                let binomial = Revolve::advances(steps, slots(count)) as u64 + steps;
                assert!(steps_run(steps, count) <= binomial, "{steps} steps, {count} slots");
            }
        }
    }

    #[test]
    fn beyond_the_table_it_is_nearly_the_best() {
        let mut worst: f64 = 1.0;
        for count in [2, 3, 6, 7, 9, 20] {
            for steps in [300, 506, 826, 1211, 1500] {
                let exact = Mixed { table: Table::new(steps, count as u64, steps), ..Mixed::new(steps, slots(count)) };
                let best = numbers::reverse(exact, steps).steps();
                worst = worst.max(steps_run(steps, count) as f64 / best as f64);
            }
        }
        assert!((1.0..1.02).contains(&worst), "{worst}");
    }

    #[test]
    fn the_largest_numbers_are_no_larger_than_others() {
        let start = Instant::now();
        for count in [1, 2, 3, 20, 1 << 40, usize::MAX] {
            let mut schedule = Mixed::new(u64::MAX, slots(count));
            assert_eq!(schedule.by_ref().take(1000).count(), 1000);
            assert!(schedule.kept.len() <= count.min(1000));
        }
        // As many slots as steps: all are recorded, one after the other.
        let mut first = Mixed::new(u64::MAX, slots(usize::MAX)).take(1000);
        assert!(first.all(|action| matches!(action, Action::StoreRecord { .. })));
        assert_eq!(steps_run(0, usize::MAX), 0);
        assert_eq!(steps_run(1, 1), 1);
        assert_eq!(steps_run(1000, usize::MAX), 1000);
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn a_million_steps_are_streamed() {
        let all = steps_run(1_000_000, 30);
        assert!(all <= Revolve::advances(1_000_000, slots(30)) as u64 + 1_000_000);
    }
}
