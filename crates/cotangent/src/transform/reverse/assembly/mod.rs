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
mod tape;
pub(super) mod write;

use super::plan::left::Left;
use super::rules::Rules;
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
    /// Arrays whose stores are taken back though the function leaves its values in them.
    left: Vec<Left>,
}
