//! A computation whose state is its own number, for the tests: it runs any schedule, and every action that is not possible,
//! or is not that of a stack in each level, ends the test.

use super::{Counts, Level, Schedule, State, run};
use crate::error::Error;

/// Runs a schedule to its end: steps must be reversed from the last to the first, within the slots, leaving nothing behind.
pub(super) fn reverse(schedule: impl Schedule, steps: u64) -> Counts {
    run_to_end(schedule, steps, false)
}

/// As `reverse`, for a schedule that is told where the loop ends. Until then any slot may be freed.
pub(super) fn reverse_online(schedule: impl Schedule, steps: u64) -> Counts {
    run_to_end(schedule, steps, true)
}

fn run_to_end(schedule: impl Schedule, steps: u64, is_online: bool) -> Counts {
    let stack = |level| Stack { slots: schedule.slots(level), is_in_order: !is_online, kept: Vec::new() };
    let mut numbers = Numbers {
        steps,
        hand: Some(0),
        reversed: steps,
        is_running: is_online,
        memory: stack(Level::Memory),
        disk: stack(Level::Disk),
    };
    let counts = run(schedule, &mut numbers).expect("numbers do not fail");
    assert_eq!((numbers.reversed, counts.recorded, numbers.is_running), (0, steps, false));
    assert!(numbers.memory.kept.is_empty() && numbers.disk.kept.is_empty(), "all slots are free again");
    counts
}

struct Numbers {
    /// Where the loop ends.
    steps: u64,
    hand: Option<u64>,
    /// The step reversed last.
    reversed: u64,
    /// The schedule does not know yet where the loop ends.
    is_running: bool,
    memory: Stack,
    disk: Stack,
}

/// One level.
struct Stack {
    slots: usize,
    /// The slot of what was kept k-th is k.
    is_in_order: bool,
    /// Slots and what is in them, in the order in which they were taken.
    kept: Vec<(usize, Kept)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    State(u64),
    Record(u64),
}

impl Stack {
    fn push(&mut self, slot: usize, kept: Kept) {
        assert!(slot < self.slots, "no such slot");
        match self.is_in_order {
            true => assert_eq!(slot, self.kept.len(), "the slot above those that are taken"),
            false => assert!(self.kept.iter().all(|(taken, _)| *taken != slot), "a free slot"),
        }
        self.kept.push((slot, kept));
    }

    fn top(&self, slot: usize) -> Kept {
        match self.kept.last() {
            Some((top, kept)) if *top == slot => *kept,
            other => panic!("slot {slot} is not the one taken last, which is {other:?}"),
        }
    }
}

impl Numbers {
    fn level(&mut self, level: Level) -> &mut Stack {
        match level {
            Level::Memory => &mut self.memory,
            Level::Disk => &mut self.disk,
        }
    }
}

impl State for Numbers {
    type Error = Error;

    fn store(&mut self, level: Level, slot: usize) -> Result<(), Error> {
        let hand = self.hand.expect("a state in hand");
        self.level(level).push(slot, Kept::State(hand));
        Ok(())
    }

    fn restore(&mut self, level: Level, slot: usize) -> Result<(), Error> {
        assert!(!self.is_running);
        let Kept::State(step) = self.level(level).top(slot) else { panic!("a record is no state") };
        self.hand = Some(step);
        Ok(())
    }

    fn advance(&mut self, from: u64, to: u64) -> Result<Option<u64>, Error> {
        assert!(self.hand == Some(from) && from < to);
        let reached = if self.is_running { to.min(self.steps) } else { to };
        assert!(reached <= self.reversed);
        self.hand = Some(reached);
        let has_ended = self.is_running && reached == self.steps;
        self.is_running &= !has_ended;
        Ok(has_ended.then_some(reached))
    }

    fn reverse(&mut self, step: u64) -> Result<(), Error> {
        assert_eq!((self.hand.take(), step + 1), (Some(step), self.reversed));
        self.reversed = step;
        Ok(())
    }

    fn store_record(&mut self, step: u64, level: Level, slot: usize) -> Result<(), Error> {
        assert!(self.hand == Some(step) && step < self.reversed && !self.is_running);
        self.hand = Some(step + 1);
        self.level(level).push(slot, Kept::Record(step));
        Ok(())
    }

    fn reverse_record(&mut self, step: u64, level: Level, slot: usize) -> Result<(), Error> {
        assert_eq!((self.level(level).top(slot), step + 1), (Kept::Record(step), self.reversed));
        self.reversed = step;
        self.hand = None;
        Ok(())
    }

    fn free(&mut self, level: Level, slot: usize) -> Result<(), Error> {
        let is_running = self.is_running;
        let stack = self.level(level);
        if is_running {
            let at = stack.kept.iter().position(|(taken, _)| *taken == slot).expect("a slot that is taken");
            stack.kept.remove(at);
        } else {
            stack.top(slot);
            stack.kept.pop();
        }
        Ok(())
    }
}
