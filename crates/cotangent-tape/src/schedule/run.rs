//! The driver of checkpoint schedules: does what a schedule says on a state that the caller describes by four functions,
//! and counts what it took.

use super::{Action, Level, Schedule};
use crate::error::Error;

/// A computation in steps, with one state in hand and a store of numbered slots.
pub trait State {
    /// What can go wrong with it; a schedule that does not fit is among that.
    type Error: From<Error>;

    /// Keeps a copy of the state in hand.
    fn store(&mut self, level: Level, slot: usize) -> Result<(), Self::Error>;

    /// Takes a copy of what the slot has into the hand.
    fn restore(&mut self, level: Level, slot: usize) -> Result<(), Self::Error>;

    /// Runs steps `from` to `to - 1`. If it is then found that the loop has ended, there or before, this gives its number of
    /// steps, which only schedules for loops of unknown length allow.
    fn advance(&mut self, from: u64, to: u64) -> Result<Option<u64>, Self::Error>;

    /// Runs one step from the state in hand with what its reverse needs, and reverses it.
    fn reverse(&mut self, step: u64) -> Result<(), Self::Error>;

    /// Runs one step from the state in hand, and keeps what its reverse needs in the slot. Only [`Mixed`](super::Mixed)
    /// schedules ask for this.
    fn store_record(&mut self, _step: u64, _level: Level, _slot: usize) -> Result<(), Self::Error> {
        Err(Error::Record.into())
    }

    /// Reverses one step by what the slot has.
    fn reverse_record(&mut self, _step: u64, _level: Level, _slot: usize) -> Result<(), Self::Error> {
        Err(Error::Record.into())
    }

    /// The slot is free again.
    fn free(&mut self, _level: Level, _slot: usize) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// What running a schedule took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Steps that were run and nothing else.
    pub advanced: u64,
    /// Steps that were run with what their reverse needs. Each step is, once.
    pub recorded: u64,
    /// States and records kept in memory, and taken from there.
    pub memory: Transfers,
    /// States and records kept on disk, and taken from there.
    pub disk: Transfers,
}

/// How often a level was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    pub writes: u64,
    pub reads: u64,
}

impl Counts {
    /// All steps that were run forwards.
    pub fn steps(&self) -> u64 {
        self.advanced + self.recorded
    }

    fn of(&mut self, level: Level) -> &mut Transfers {
        match level {
            Level::Memory => &mut self.memory,
            Level::Disk => &mut self.disk,
        }
    }
}

/// Reverses all steps of a computation.
pub fn run<T: State>(mut schedule: impl Schedule, state: &mut T) -> Result<Counts, T::Error> {
    let mut counts = Counts::default();
    while let Some(action) = schedule.next() {
        match action {
            Action::Store { level, slot, .. } => {
                state.store(level, slot)?;
                counts.of(level).writes += 1;
            }
            Action::Restore { level, slot, .. } => {
                state.restore(level, slot)?;
                counts.of(level).reads += 1;
            }
            Action::Advance { from, to } => {
                let end = state.advance(from, to)?;
                if let Some(end) = end {
                    schedule.ended(end)?;
                }
                counts.advanced += end.unwrap_or(to) - from;
            }
            Action::Reverse { step } => {
                state.reverse(step)?;
                counts.recorded += 1;
            }
            Action::StoreRecord { step, level, slot } => {
                state.store_record(step, level, slot)?;
                counts.recorded += 1;
                counts.of(level).writes += 1;
            }
            Action::ReverseRecord { step, level, slot } => {
                state.reverse_record(step, level, slot)?;
                counts.of(level).reads += 1;
            }
            Action::Free { level, slot } => state.free(level, slot)?,
        }
    }
    Ok(counts)
}
