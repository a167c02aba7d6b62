//! Brings a function into the form that reverse mode works on.
//!
//! Afterwards a function has one exit, its end; loops are left only at their header, or by an `if (c) break;` that is
//! the last statement of the body; there is no `switch` and no `continue`; counters are integers; in loops, pointers into
//! one variable of the thread are indices; records of the thread that hold pointers are variables, one a field; what a
//! reference to a pointer refers to is named itself. What was computed is the same, in the same order.

mod addresses;
mod counted;
mod counters;
mod inline;
mod jumps;
mod lanes;
mod pointers;
mod records;
mod references;
mod runtime;
mod shared;
mod stages;
mod warp_stores;

pub(super) use addresses::{address, address_taken};
pub(super) use counted::counted_loops;
pub(super) use counters::loops_without_numbers;
pub(super) use inline::{Inlining, collapse, inline_calls, inline_these};
pub(super) use jumps::remove_jumps;
pub(super) use lanes::masks_of_those_present;
pub(super) use pointers::pointers_to_indices;
pub(super) use records::split_records;
pub(super) use references::name_pointers;
pub(super) use runtime::results_of_runtime;
pub(super) use shared::{gather_dynamic, gather_shared};
pub(super) use stages::{normal_form, passes};
pub(super) use warp_stores::stores_of_warps;
