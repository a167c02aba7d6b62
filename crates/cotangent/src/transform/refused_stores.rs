//! Refuses active stores of which the premise of reverse mode is false: all threads of a block make them, to one element.

use crate::analysis::race::stores_of_whole_blocks;
use crate::analysis::{Activity, Objects};
use crate::diagnostic::{Diagnostic, SHARED_STORE};
use crate::ir::{FunctionId, Module};

/// What is wrong with the active stores of a kernel. Functions that it calls may be called by one thread alone.
pub(super) fn refused_stores(
    module: &Module,
    kernel: FunctionId,
    objects: &Objects<'_>,
    activity: &Activity,
) -> Vec<Diagnostic> {
    let stores = stores_of_whole_blocks(module, kernel).into_iter();
    let active = stores.filter(|(_, place)| activity.is_active_place(objects, place));
    let refused = active.map(|(stmt, _)| {
        let message = "all threads of a block store to this element";
        let label = "the index is the same for each of them";
        Diagnostic::new(SHARED_STORE, stmt.span, message, label).help(
            "let one thread store it, with `if (threadIdx.x == 0)` around it, or give each thread an element of its own",
        )
    });
    refused.collect()
}
