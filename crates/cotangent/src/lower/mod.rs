//! Clang's tree to the IR, from the requested functions: everything they need and nothing else.
//!
//! What C++ has and the IR has not is resolved here: templates are already instantiated, overloads and members become
//! functions with names of their own, effects inside expressions become statements in the order C++ prescribes, and
//! implicit conversions become explicit. Nothing here knows that the program will be differentiated.
//!
//! Lowering is a normal form: what `emit` prints of a module is lowered to the same module again.

mod apart;
mod arguments;
mod arithmetic;
mod assign;
mod body;
mod builtin;
mod bytes;
mod call;
mod callee;
mod cast;
mod constant;
mod construct;
mod context;
mod control;
mod declarations;
mod evaluate;
mod expr;
mod function;
mod half;
mod instantiate;
mod intrinsic;
mod lambda;
mod loops;
mod names;
mod names_in_use;
mod new;
mod order_of_evaluation;
mod passed;
mod passes;
mod place;
mod prepared;
mod provided;
mod request;
mod rules;
mod stmt;
mod stream;
mod types;
mod unread;
mod unread_class;
mod vector;
mod whole_record;

use crate::diagnostic::Diagnostic;
use crate::ir::{Module, Name, Provided, order};

pub use instantiate::{Missing, missing_instantiation, space_of};
pub use passes::Passes;
pub use request::{candidates, spelled};

/// Lowers the requested functions and all they need.
///
/// A request is a name as in C++: `saxpy`, `geo::area`, `k<float, 128>`, and, to choose among overloads,
/// `f(float, int)`; or the name that the linker knows the function by, after an `@`, or `host@` for the host's version. All problems that were found are
/// reported, not only the first.
///
/// # Errors
/// The diagnostics, if there is any.
pub fn lower(passes: Passes<'_>, requests: &[&str]) -> Result<Module, Vec<Diagnostic>> {
    lower_with_names(passes, requests).map(|(module, _)| module)
}

/// As [`lower`], with the names that the requested functions have in the module, in the order of the requests.
///
/// # Errors
/// The diagnostics, if there is any.
pub fn lower_with_names(passes: Passes<'_>, requests: &[&str]) -> Result<(Module, Vec<Name>), Vec<Diagnostic>> {
    finish(context::Context::new(passes), requests, |_| {})
}

/// As [`lower_with_names`], with the rules that the program states about the functions that are called, and the functions
/// that the rules name.
///
/// # Errors
/// The diagnostics, if there is any.
pub fn lower_with_rules(passes: Passes<'_>, requests: &[&str]) -> Result<(Module, Vec<Name>), Vec<Diagnostic>> {
    let mut context = context::Context::new(passes);
    context.note_rules();
    finish(context, requests, rules::lower_rules)
}

/// As [`lower_with_rules`], with what of the module the program has itself.
///
/// # Errors
/// The diagnostics, if there is any.
pub fn lower_beside(passes: Passes<'_>, requests: &[&str]) -> Result<(Module, Vec<Name>, Provided), Vec<Diagnostic>> {
    let mut found = Provided::default();
    let mut context = context::Context::new(passes);
    context.note_rules();
    let (module, names) = finish(context, requests, |context| {
        rules::lower_rules(context);
        found = provided::provided(context);
    })?;
    Ok((module, names, found))
}

fn finish<'a>(
    mut context: context::Context<'a>,
    requests: &[&str],
    rules: impl FnOnce(&mut context::Context<'a>),
) -> Result<(Module, Vec<Name>), Vec<Diagnostic>> {
    let names = requests.iter().filter_map(|request| request::lower_request(&mut context, request)).collect();
    rules(&mut context);
    let (module, diagnostics) = context.finish();
    if diagnostics.is_empty() { Ok((order::callees_first(&module), names)) } else { Err(diagnostics) }
}
