//! What passes promise, and whether it is true.
//!
//! The passes before and after reverse mode stand in two tables, `normalize/stages.rs` and `finish.rs`. In tests and debug
//! builds the function is validated after each pass, and all that was promised so far must hold: a pass that breaks what an
//! earlier one made is found there, and not by a derivative that lacks a term.

use crate::diagnostic::{Diagnostic, INTERNAL};
use crate::ir::walk;
use crate::ir::{Function, FunctionId, Module, Stmt, validate_function};
use crate::source::Span;

/// What is true of every function after a pass. `C` is what else the passes of a table know.
pub(super) struct Promise<C: 'static> {
    pub(super) words: &'static str,
    /// Where it is broken.
    pub(super) broken: fn(&Module, &C, &Function) -> Option<Span>,
}

/// A pass by its name, why it is there, and what holds after it.
pub(super) type Done<'t, C> = (&'static str, &'static str, &'t [Promise<C>]);

/// Whether a function is valid after the last of some passes, and all that they promise is true.
///
/// # Errors
/// Internal ones: each is a bug in a pass.
pub(super) fn check<C>(
    module: &Module,
    id: FunctionId,
    function: &Function,
    context: &C,
    done: &[Done<'_, C>],
) -> Result<(), Vec<Diagnostic>> {
    let Some((last, reason, _)) = done.last() else { return Ok(()) };
    validate_function(module, id, function).map_err(|violations| {
        let found = violations.into_iter().map(Diagnostic::from);
        found.map(|found| found.help(format!("after the pass `{last}`: {reason}"))).collect::<Vec<_>>()
    })?;
    for (name, promise) in done.iter().flat_map(|(name, _, promises)| promises.iter().map(move |it| (name, it))) {
        if let Some(span) = (promise.broken)(module, context, function) {
            return Err(vec![broken(last, name, promise.words, span)]);
        }
    }
    Ok(())
}

/// What is said if a promise is broken.
pub(super) fn broken(last: &str, promised_by: &str, words: &str, span: Span) -> Diagnostic {
    let message = format!("after the pass `{last}` it does not hold that {words}");
    Diagnostic::new(INTERNAL, span, message, "here")
        .help(format!("`{promised_by}` promises it; this is a bug in Cotangent, please report it"))
}

/// The first statement of a block, or of blocks in it, of which something is true.
pub(super) fn find(block: &[Stmt], is_meant: &mut impl FnMut(&Stmt) -> bool) -> Option<Span> {
    let mut found = None;
    walk::each_stmt(block, &mut |stmt| {
        if found.is_none() && is_meant(stmt) {
            found = Some(stmt.span);
        }
    });
    found
}
