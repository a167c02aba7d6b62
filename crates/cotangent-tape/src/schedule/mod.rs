//! Checkpoint schedules: which states of a long computation to keep, and from which to compute again, so that its
//! steps can be reversed one after the other with room for a few states only.
//!
//! A schedule is an iterator of [`Action`]s. Whoever runs it has one state in hand, and a store with numbered slots; the
//! schedule never sees either. [`run()`] is such a runner, for anything that can do what the actions say.
//!
//! **Each level is a stack.** `Store` takes slot `k` when slots 0 to `k - 1` of its level are taken; `Restore` and `Free`
//! are about the slot taken last of those that are still taken. So a lane, which is a stack of bytes, can be the store of
//! a level: push, read the top again, pop. The exception is [`Online`], which cannot be so while the loop runs forwards: its
//! states need an array of slots, of the size of a state each.

mod mixed;
mod online;
mod revolve;
mod run;
mod two_level;

#[cfg(test)]
mod numbers;
#[cfg(test)]
mod search;

pub use mixed::Mixed;
pub use online::Online;
pub use revolve::Revolve;
pub use run::{Counts, State, Transfers, run};
pub use two_level::{Costs, TwoLevel};

use crate::error::Error;

/// Where a state is kept. Schedules with two levels use the second one for what is needed late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    Memory,
    Disk,
}

/// What to do next. Step `i` takes state `i` to state `i + 1`; the state in hand at first is state 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Keep a copy of the state in hand, which is state `step`, in a free slot.
    Store { step: u64, level: Level, slot: usize },
    /// Take a copy of state `step` into the hand; the slot keeps it.
    Restore { step: u64, level: Level, slot: usize },
    /// Run steps `from` to `to - 1`, keeping nothing.
    Advance { from: u64, to: u64 },
    /// Run step `step` from the state in hand once more, recording on the tape, and reverse it at once. The hand is
    /// empty afterwards.
    Reverse { step: u64 },
    /// Run step `step` from the state in hand, recording what its reverse needs in a free slot; state `step + 1` is in hand
    /// afterwards. Only [`Mixed`] asks for this.
    StoreRecord { step: u64, level: Level, slot: usize },
    /// Reverse step `step` by the record in this slot. No step is run, and no state is in hand.
    ReverseRecord { step: u64, level: Level, slot: usize },
    /// What is in this slot is not needed any more. It was taken last of those taken, unless this is [`Online`] and the loop has
    /// not ended: then it is any slot but that of state 0, and the next `Store` takes it.
    Free { level: Level, slot: usize },
}

/// What all schedules have in common.
pub trait Schedule: Iterator<Item = Action> {
    /// How many slots of a level are in use at most. They are numbered from zero.
    fn slots(&self, level: Level) -> usize;

    /// The loop has ended with so many steps, and its last state is in hand. An error for schedules that were told the steps.
    fn ended(&mut self, _steps: u64) -> Result<(), Error> {
        Err(Error::Ended)
    }
}

impl<S: Schedule + ?Sized> Schedule for Box<S> {
    fn slots(&self, level: Level) -> usize {
        (**self).slots(level)
    }

    fn ended(&mut self, steps: u64) -> Result<(), Error> {
        (**self).ended(steps)
    }
}
