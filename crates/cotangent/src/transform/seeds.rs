//! Whether a derivative can be seeded, and which active outputs it leaves out.
//!
//! The seeds of reverse mode are the adjoints of what is named and written, and of the result; forward mode has its tangents
//! there. Without any of them a derivative does nothing, and nobody would notice.

use std::collections::HashSet;

use super::Request;
use super::differentiable::leads_to_floats;
use super::normalize::Inlining;
use super::reverse::normal_functions;
use super::variables::lift;
use crate::analysis::{Activity, Base, Object, activity, carries_floats, objects, written};
use crate::diagnostic::{Diagnostic, NO_SEED, UNNAMED_OUTPUT};
use crate::ir::{Function, LocalId, Module};
use crate::source::Span;

/// Notes about active outputs that are not named.
///
/// # Errors
/// A request in which nothing that is named, and no result, is an output.
pub fn seeds(module: &Module, request: &Request) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    let lifted = lift(module, request)?;
    let normal = normal_functions(&lifted.module, &mut Inlining::new(HashSet::new()), request.trust)?;
    let function = &normal.functions[request.function];
    let objects = objects(&normal, function);
    let written: Vec<Object> = written(&objects, &function.body).into_iter().collect();
    let activity = activity(&normal, &objects, &function.body, &lifted.wrt);
    let unnamed = unnamed_outputs(&normal, function, &written, &activity, &lifted.wrt);
    let is_seed = |object: &Object| match object.base {
        Base::Local(local) => !object.path.is_empty() && lifted.wrt.contains(&local),
        Base::Global(_) | Base::Unread => false,
        // Whatever it is, it is refused where it is used.
        Base::Unknown => true,
    };
    if leads_to_floats(&normal, &function.result) || written.iter().any(is_seed) {
        return Ok(lifted.said(unnamed.iter().map(note).collect()));
    }
    let message = format!("nothing that is named is an output of `{}`", function.name);
    let found = match unnamed.first() {
        Some(Output { name, span }) => Diagnostic::new(NO_SEED, *span, message, "this is, and it is not named")
            .help(format!("name `{name}` too: its derivative is the seed")),
        None => Diagnostic::new(NO_SEED, function.span, message, "it returns no floating number, and writes elsewhere")
            .help("name an array that it writes, or differentiate a function that has a result"),
    };
    Err(lifted.said(vec![found]))
}

/// An output that is not named.
struct Output {
    name: String,
    span: Span,
}

fn unnamed_outputs(
    module: &Module,
    function: &Function,
    written: &[Object],
    activity: &Activity,
    named: &[LocalId],
) -> Vec<Output> {
    let is_output = |base: Base| {
        let mut own = written.iter().filter(|object| object.base == base);
        own.any(|object| activity.is_varied(object) && !activity.is_active(object))
    };
    let params = function.params.iter().filter(|param| !named.contains(param));
    let params = params.filter(|param| {
        let is_memory = |object: &&Object| object.base == Base::Local(**param) && !object.path.is_empty();
        leads_to_floats(module, &function.locals[**param].ty)
            && written.iter().any(|object| is_memory(&object))
            && is_output(Base::Local(**param))
    });
    let of_param = |param: &LocalId| {
        let local = &function.locals[*param];
        Output { name: local.name.to_string(), span: local.span }
    };
    let variables = module.globals.entries().filter(|(id, variable)| {
        variable.storage.is_on_device() && carries_floats(module, &variable.ty) && is_output(Base::Global(*id))
    });
    let of_variable = |variable: &crate::ir::Global| Output { name: variable.name.to_string(), span: variable.span };
    params.map(of_param).chain(variables.map(|(_, variable)| of_variable(variable))).collect()
}

fn note(Output { name, span }: &Output) -> Diagnostic {
    let message = format!("`{name}` may depend on what is named, and is not named itself");
    Diagnostic::new(UNNAMED_OUTPUT, *span, message, "it counts as constant")
        .help(format!("name `{name}` too if the result depends on it"))
        .noted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    fn notes(body: &str) -> Vec<String> {
        let source = format!("device total: float;\nkernel k(x: const float*, y: float*, z: float*) {{ {body} }}");
        let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let named = ["x", "y"].map(str::to_owned);
        let request = Request::new(&module, module.function("k").unwrap(), Some(&named)).unwrap();
        seeds(&module, &request).unwrap().into_iter().map(|note| note.message).collect()
    }

    #[test]
    fn outputs_that_are_not_named_are_noted() {
        let note = |name: &str| format!("`{name}` may depend on what is named, and is not named itself");
        assert_eq!(notes("*y = (*x * total); *z = 1.0f;"), [""; 0]);
        assert_eq!(notes("*y = *x; total = *x;"), [note("total")]);
        assert_eq!(notes("*y = *x; *z = *x;"), [note("z")]);
    }
}
