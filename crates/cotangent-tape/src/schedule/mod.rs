//! Checkpoint schedules: which states of a long computation to keep, and from which to compute again, so that its
//! steps can be reversed one after the other with room for a few states only.
//!
//! A schedule is an iterator of [`Action`]s. Whoever runs it has one state in hand, and a store with numbered slots; the
//! schedule never sees either.

mod revolve;

pub use revolve::Revolve;

/// Where a state is kept. Schedules with two levels use the second one for what is needed late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    Memory,
    Disk,
}

/// What to do next. Step `i` takes state `i` to state `i + 1`; the state in hand at first is state 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Keep the state in hand, which is state `step`, in a free slot.
    Store { step: u64, level: Level, slot: usize },
    /// Take a copy of state `step` into the hand; the slot keeps it.
    Restore { step: u64, level: Level, slot: usize },
    /// Run steps `from` to `to - 1`, keeping nothing.
    Advance { from: u64, to: u64 },
    /// Run step `step` from the state in hand once more, recording on the tape, and reverse it at once. The hand is
    /// empty afterwards.
    Reverse { step: u64 },
    /// The state in this slot is not needed any more.
    Free { level: Level, slot: usize },
}

/// What all schedules have in common.
pub trait Schedule: Iterator<Item = Action> {
    /// How many slots of a level are in use at most. They are numbered from zero.
    fn slots(&self, level: Level) -> usize;
}
