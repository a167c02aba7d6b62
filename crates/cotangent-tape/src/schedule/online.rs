//! The online schedule, for a loop whose length is known when it ends: while it runs, checkpoints are replaced so that those
//! that are left are good ones wherever the loop may end (after Wang, Moin and Iaccarino, 2009).
//!
//! Checkpoints have ranks. The newest one is of rank 0 and takes the place of an older one that a newer one outranks; where no
//! such one is left, it replaces the one before it and has the next higher rank. The ranks that remain fall from the first
//! checkpoint to the last as the distances of the binomial schedule do. Once all slots are taken, checkpoints are taken in
//! distances that grow as the square root of the length: so few states are copied, and it costs no more steps.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;

use super::{Action, Level, Revolve, Schedule};
use crate::error::Error;

/// Actions for a loop that runs while they are given: first forwards, by `Store`, `Free` and `Advance`, without an end. The
/// caller says when the loop has ended ([`Schedule::ended`]), which may be within an `Advance`; the actions that follow reverse
/// it. Memory: one entry a slot in use.
///
/// It takes at most as many steps as [`Revolve`] takes in all if it knows the length, and one run of the loop more; the tests
/// compare all lengths to 300 with up to 20 slots. From a length of 3 on that is at most 1.5 times as many.
///
/// While the loop runs forwards, `Free` may be about any slot but the first, and `Store` takes a slot that is free, so the
/// store is no stack then. Afterwards it is one, in the order in which states were kept, though its slots are not in order.
#[derive(Clone, Debug)]
pub struct Online {
    slots: usize,
    phase: Phase,
    /// To be given before anything else is decided.
    next: VecDeque<Action>,
}

#[derive(Clone, Debug)]
enum Phase {
    Forward(Forward),
    Backward(Backward),
}

/// While the loop runs.
#[derive(Clone, Debug)]
struct Forward {
    /// The state in hand when all that was asked for is done.
    hand: u64,
    /// Where the loop may have ended, by what was asked for last.
    ends: Option<RangeInclusive<u64>>,
    /// Checkpoints that none after them outranks, oldest first.
    standing: Vec<Kept>,
    /// The step and slot of the others, which may be replaced: oldest first.
    outranked: BinaryHeap<Reverse<(u64, usize)>>,
}

#[derive(Clone, Debug)]
struct Kept {
    step: u64,
    slot: usize,
    rank: u64,
}

/// After the loop has ended.
#[derive(Clone, Debug)]
struct Backward {
    revolve: Revolve,
    /// Of the slots that were in use, in the order in which the reversal uses them. Above those each has its own number.
    names: Vec<usize>,
}

impl Online {
    /// The schedule with so many slots. State 0 takes one.
    pub fn new(slots: NonZeroUsize) -> Self {
        let forward = Forward { hand: 0, ends: Some(0..=0), standing: Vec::new(), outranked: BinaryHeap::new() };
        Self { slots: slots.get(), phase: Phase::Forward(forward), next: VecDeque::new() }
    }
}

impl Iterator for Online {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        if self.next.is_empty() {
            match &mut self.phase {
                Phase::Forward(forward) if forward.hand == u64::MAX => {
                    // There is no number for another state.
                    self.ended(u64::MAX).ok()?;
                }
                Phase::Forward(forward) => forward.plan(self.slots, &mut self.next),
                Phase::Backward(backward) => return backward.next(),
            }
            return self.next();
        }
        let action = self.next.pop_front();
        if let Phase::Forward(forward) = &mut self.phase {
            forward.ends = match action {
                Some(Action::Advance { from, to }) => Some(from..=to),
                Some(Action::Store { step, .. }) => Some(step..=step),
                _ => None,
            };
        }
        action
    }
}

impl Schedule for Online {
    fn slots(&self, level: Level) -> usize {
        match level {
            Level::Memory => self.slots,
            Level::Disk => 0,
        }
    }

    /// Right after a `Store` or an `Advance`, or before the first action: the loop has so many steps, and its last state is in hand.
    fn ended(&mut self, steps: u64) -> Result<(), Error> {
        let Phase::Forward(forward) = &mut self.phase else { return Err(Error::Ended) };
        if !forward.ends.as_ref().is_some_and(|ends| ends.contains(&steps)) {
            return Err(Error::Ended);
        }
        let kept = forward.kept();
        self.next.clear();
        // The last state of all is no state to begin from.
        let is_useful = |kept: &&(u64, usize)| kept.0 < steps;
        self.next.extend(kept.iter().filter(|kept| !is_useful(kept)).map(|kept| free(kept.1)));
        let states = kept.iter().filter(is_useful).map(|kept| kept.0);
        let revolve = Revolve::resumed(states, steps, self.slots);
        let taken: BTreeSet<usize> = kept.iter().filter(is_useful).map(|kept| kept.1).collect();
        let rest = (0..kept.len()).filter(|slot| !taken.contains(slot));
        let names = kept.iter().filter(is_useful).map(|kept| kept.1).chain(rest).collect();
        self.phase = Phase::Backward(Backward { revolve, names });
        Ok(())
    }
}

impl Forward {
    /// What is done with the state in hand, and where to go next.
    fn plan(&mut self, slots: usize, actions: &mut VecDeque<Action>) {
        let taken = self.standing.len() + self.outranked.len();
        if taken < slots {
            self.keep(taken, 0, actions);
        } else if slots > 1 {
            let (slot, rank) = match self.outranked.pop() {
                Some(Reverse((_, slot))) => (slot, 0),
                // All are standing, which are at least two: the first is never replaced.
                None => self.standing.pop().map_or((0, 0), |last| (last.slot, last.rank + 1)),
            };
            actions.push_back(free(slot));
            self.keep(slot, rank, actions);
        }
        let distance = match taken {
            // With one slot nothing but the first state is kept.
            _ if slots == 1 => u64::MAX,
            _ if taken + 1 < slots => 1,
            _ => (self.hand / 16).isqrt().max(1),
        };
        let to = self.hand.saturating_add(distance);
        actions.push_back(Action::Advance { from: self.hand, to });
        self.hand = to;
    }

    fn keep(&mut self, slot: usize, rank: u64, actions: &mut VecDeque<Action>) {
        while let Some(outranked) = self.standing.pop_if(|kept| kept.rank < rank && kept.step > 0) {
            self.outranked.push(Reverse((outranked.step, outranked.slot)));
        }
        self.standing.push(Kept { step: self.hand, slot, rank });
        actions.push_back(Action::Store { step: self.hand, level: Level::Memory, slot });
    }

    /// Step and slot of all that is kept, oldest first.
    fn kept(&self) -> Vec<(u64, usize)> {
        let outranked = self.outranked.iter().map(|Reverse(kept)| *kept);
        let mut all: Vec<_> = self.standing.iter().map(|kept| (kept.step, kept.slot)).chain(outranked).collect();
        all.sort_unstable();
        all
    }
}

impl Backward {
    fn next(&mut self) -> Option<Action> {
        let name = |slot: usize| self.names.get(slot).copied().unwrap_or(slot);
        Some(match self.revolve.next()? {
            Action::Store { step, level, slot } => Action::Store { step, level, slot: name(slot) },
            Action::Restore { step, level, slot } => Action::Restore { step, level, slot: name(slot) },
            Action::Free { level, slot } => Action::Free { level, slot: name(slot) },
            other @ (Action::Advance { .. }
            | Action::Reverse { .. }
            | Action::StoreRecord { .. }
            | Action::ReverseRecord { .. }) => other,
        })
    }
}

fn free(slot: usize) -> Action {
    Action::Free { level: Level::Memory, slot }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::numbers;
    use super::*;

    fn slots(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).expect("not zero")
    }

    #[test]
    fn at_most_one_run_of_the_loop_is_added_to_the_optimum() {
        for steps in 0..=300 {
            for count in 1..=20 {
                let all = numbers::reverse_online(Online::new(slots(count)), steps).steps();
                let best = Revolve::advances(steps, slots(count)) as u64 + steps;
                assert!(all <= best + steps, "{steps} steps, {count} slots: {all}, {best}");
                assert!(steps < 3 || 2 * all <= 3 * best, "{steps} steps, {count} slots: {all}, {best}");
            }
        }
    }

    #[test]
    fn few_states_are_copied_while_a_long_loop_runs() {
        for count in [2, 5, 20] {
            let counts = numbers::reverse_online(Online::new(slots(count)), 20_000);
            let best = Revolve::advances(20_000, slots(count)) as u64 + 20_000;
            assert!(counts.steps() <= best + 20_000, "{count} slots");
            let backward = numbers::reverse(Revolve::new(20_000, slots(count)), 20_000).memory.writes;
            assert!(counts.memory.writes < backward + 20_000 / 10, "{count} slots");
        }
    }

    #[test]
    fn an_end_that_was_not_asked_for_is_an_error() {
        let mut schedule = Online::new(slots(2));
        assert!(matches!(schedule.next(), Some(Action::Store { step: 0, .. })));
        assert_eq!(schedule.ended(1), Err(Error::Ended));
        assert_eq!(schedule.next(), Some(Action::Advance { from: 0, to: 1 }));
        assert_eq!(schedule.ended(2), Err(Error::Ended));
        assert_eq!(schedule.ended(1), Ok(()));
        assert_eq!(schedule.ended(1), Err(Error::Ended));
        assert!(matches!(schedule.next(), Some(Action::Restore { step: 0, .. })));
        // Between a free and its store the state in hand is not told of yet.
        let mut schedule = Online::new(slots(2));
        let freed = schedule.by_ref().find(|action| matches!(action, Action::Free { .. }));
        assert!(freed.is_some() && schedule.ended(2) == Err(Error::Ended));
    }

    #[test]
    fn a_loop_may_end_wherever_it_may_be_said() {
        // After a store instead of in the advance that follows; and before anything was done.
        let mut schedule = Online::new(slots(3));
        let _ = schedule.by_ref().find(|action| matches!(action, Action::Store { step: 7, .. }));
        schedule.ended(7).expect("state 7 is in hand");
        assert_eq!(schedule.filter(|action| matches!(action, Action::Reverse { .. })).count(), 7);
        let mut schedule = Online::new(slots(3));
        schedule.ended(0).expect("state 0 is in hand");
        assert_eq!(schedule.next(), None);
    }

    #[test]
    fn the_largest_numbers_are_no_larger_than_others() {
        let start = Instant::now();
        let mut schedule = Online::new(slots(1));
        assert_eq!(schedule.nth(1), Some(Action::Advance { from: 0, to: u64::MAX }));
        schedule.ended(u64::MAX).expect("it may end there");
        assert!(matches!(schedule.next(), Some(Action::Restore { step: 0, .. })));
        assert_eq!(schedule.next(), Some(Action::Advance { from: 0, to: u64::MAX - 1 }));
        // Asked to go on, a loop of as many steps as there are numbers has ended.
        let mut schedule = Online::new(slots(1));
        assert!(matches!(schedule.nth(2), Some(Action::Restore { step: 0, .. })));
        assert_eq!(numbers::reverse_online(Online::new(slots(usize::MAX)), 1000).steps(), 2000);
        let most = Online::new(slots(usize::MAX)).nth(100_000);
        assert!(matches!(most, Some(Action::Store { .. } | Action::Advance { .. })));
        // A long loop with many slots: no step looks at all of them.
        let counts = numbers::reverse_online(Online::new(slots(3000)), 50_000);
        assert!(counts.steps() <= 100_000 + Revolve::advances(50_000, slots(3000)) as u64);
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}
