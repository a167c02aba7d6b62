//! Where the reverse sweep gets the values from that rules mention.
//!
//! Questions only: nothing here writes code. A value is still there (`still`), is computed again or recorded (`again`), or is
//! in shared memory that is filled again (`reload`). An array that a launched kernel needs is copied as a whole or recorded by
//! the kernel (`launch`). `steps` says what the steps of a loop begin with that is run again from checkpoints. `loops` says how a loop is turned around, and `order` whether it need be. `left` says which elements of an
//! array are stored to, so that stores can be taken back.

pub(super) mod again;
pub(super) mod launch;
pub(super) mod left;
pub(super) mod loops;
mod order;
mod own_elements;
mod reload;
pub(super) mod steps;
pub(super) mod still;

use super::frames::Frames;
use super::rules::Rules;
use super::variables::Variables;

/// Values at a statement, and whether they are there later.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) vars: &'a Variables<'a>,
    pub(super) frames: &'a Frames,
}

impl Rules<'_> {
    /// Values at the statement whose rule is made.
    pub(super) fn values(&self) -> Values<'_> {
        Values { vars: &self.vars, frames: &self.frames }
    }
}
