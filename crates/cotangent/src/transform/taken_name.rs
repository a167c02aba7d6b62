//! Whether a program has what a derivative is to be called already.

use crate::diagnostic::{Diagnostic, TAKEN_NAME};
use crate::ir::{Module, Name};
use crate::source::Span;

/// What is said about a derivative whose name is taken; `span` is what is differentiated.
pub(super) fn taken_name(module: &Module, span: Span, name: &str) -> Option<Diagnostic> {
    is_taken(module, name).then(|| {
        let message = format!("the name `{name}` is taken");
        Diagnostic::new(TAKEN_NAME, span, message, "its derivative has that name").help("rename what has it now")
    })
}

/// A name like the wanted one that nothing of a module has.
pub(super) fn free_name(module: &Module, wanted: String) -> Name {
    let mut name = wanted.clone();
    let mut number = 1;
    while is_taken(module, &name) {
        number += 1;
        name = format!("{wanted}_{number}");
    }
    name.into()
}

/// Whether a function, a variable or a record of a module has a name.
fn is_taken(module: &Module, name: &str) -> bool {
    module.functions.iter().any(|other| *other.name == *name)
        || module.globals.iter().any(|other| *other.name == *name)
        || module.records.iter().any(|other| *other.name == *name)
}
