//! Writes derivatives as they were planned.

mod again;
mod block;
mod flat;
mod frees;
mod launch;
mod left;
mod loops;
mod record;
mod settle;
mod slots;
mod split;
mod steps;
mod tape;
pub(super) mod write;

use std::collections::BTreeSet;

use super::plan::left::Left;
use super::rules::Rules;
use super::stretches::LoopNumber;
use crate::ir::LocalId;
use crate::source::Span;
use flat::Flat;
use record::Limit;
pub(super) use split::needed_arrays;

/// A derivative in the making.
pub(super) struct Assembly<'a> {
    rules: Rules<'a>,
    /// Whether a record in global memory is needed.
    uses_record: bool,
    /// The size of the record, where the user states it.
    limit: Option<Limit>,
    /// Records of a host function that are arrays.
    flat: Flat,
    /// The bytes of a slot of the record.
    word: u64,
    /// Loops that use the record, without others inside that do, and how many slots an iteration uses.
    stacked: Vec<(LoopNumber, Span, usize)>,
    /// Arrays whose stores are taken back though the function leaves its values in them.
    left: Vec<Left>,
    /// Shared arrays that a loop of the reverse sweep fills again before it reads them.
    filled: BTreeSet<LocalId>,
}

impl<'a> Assembly<'a> {
    /// A derivative of which nothing is written yet.
    fn new(rules: Rules<'a>, limit: Option<Limit>, left: Vec<Left>) -> Self {
        Assembly {
            rules,
            uses_record: false,
            limit,
            flat: Flat::default(),
            left,
            stacked: Vec::new(),
            filled: BTreeSet::new(),
            word: 0,
        }
    }
}
