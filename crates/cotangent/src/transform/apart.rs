//! Promises that the adjoints of the requested function overlap no other array, with `__restrict__`.
//!
//! That is the contract of a derivative; `__restrict__` tells the compiler, which then keeps what it has loaded, and vectorises.
//! What the function calls or launches does not get the promise: its arguments may be
//! parts of one array. Nor does an adjoint if
//! - pointers that lie in memory may point to it,
//! - other threads read there what this one wrote: a compiler could keep the value over the barrier between.

use std::ops::ControlFlow;

use super::AdjointParam;
use crate::analysis::locals::locals;
use crate::analysis::ordering::Ordering;
use crate::analysis::root::{Root, Roots};
use crate::analysis::touch::Touches;
use crate::ir::walk::{self, NodeMut};
use crate::ir::{ExprKind, Function, LocalId, Module, Name, Type};

/// The names of the parameters of a derivative that can be promised, before additions are decided. `ordering` is that of
/// the primal function's threads.
pub(super) fn apart(module: &Module, function: &Function, adjoints: &[AdjointParam], ordering: Ordering) -> Vec<Name> {
    let uses = locals(function);
    let touch = Touches::new(module, function, &uses).block(&function.body);
    if touch.reads().iter().chain(touch.changes()).any(Root::is_open) {
        return Vec::new();
    }
    let roots = Roots::new(module, function, &uses);
    let is_apart = |param: LocalId| {
        let Type::Pointer(pointer) = &function.locals[param].ty else { return false };
        let memory = Root::Param(param);
        let (is_read, is_changed) = (touch.reads().contains(&memory), touch.changes().any(|root| *root == memory));
        let is_passed_on = is_read && is_changed && ordering != Ordering::None;
        adjoints.iter().any(|adjoint| adjoint.adjoint == param && !adjoint.is_contended)
            && !(pointer.is_reference || pointer.is_volatile || roots.may_hold_pointer(&pointer.pointee))
            && (is_read || is_changed)
            && !is_passed_on
    };
    let params = function.params.iter().filter(|param| is_apart(**param));
    params.map(|param| function.locals[*param].name.clone()).collect()
}

/// Writes the promise: `__restrict__` at the parameters, and a line above the function.
pub(super) fn promise(function: &mut Function, names: &[Name]) {
    let is_promised = |param: &LocalId| names.contains(&function.locals[*param].name);
    let params: Vec<LocalId> = function.params.iter().copied().filter(is_promised).collect();
    for param in &params {
        if let Type::Pointer(pointer) = &mut function.locals[*param].ty {
            pointer.is_restrict = true;
        }
    }
    let types = function.locals.clone();
    let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
        if let NodeMut::Expr(expr) = node
            && let ExprKind::Load(place) = &mut expr.kind
            && let Some(local) = place.as_local().filter(|local| params.contains(local))
        {
            place.ty = types[local].ty.clone();
            expr.ty = place.ty.clone();
        }
        ControlFlow::<()>::Continue(())
    });
    // What nobody writes may overlap whatever nobody writes either.
    let is_written = |param: &&LocalId| !matches!(&function.locals[**param].ty, Type::Pointer(it) if it.is_const);
    let names: Vec<&str> = params.iter().filter(is_written).map(|param| function.local_name(*param)).collect();
    let listed = match names.as_slice() {
        [] => return,
        [one] => (*one).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    };
    function.note = Some(format!("{listed} must overlap no other array.").into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{FunctionId, text};

    /// The adjoints, `dx` of `x` and so on, that are promised.
    fn promised(body: &str, ordering: Ordering) -> Vec<String> {
        let source = format!(
            "record View {{ data: float* }}
             kernel k(x: const float*, y: float*, view: View, dx: float*, dy: float*, dview: View*, i: int) {{ {body} }}"
        );
        let module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let adjoint = |adjoint, primal| AdjointParam {
            adjoint: LocalId(adjoint),
            primal: LocalId(primal),
            is_shared: true,
            is_anywhere: false,
            is_contended: false,
        };
        let adjoints = [adjoint(3, 0), adjoint(4, 1), adjoint(5, 2)];
        let names = apart(&module, &module.functions[FunctionId(0)], &adjoints, ordering);
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn adjoints_that_a_function_touches_are_promised() {
        let body = "let r: float = dy[i]; dx[i] += (r * x[i]); dy[i] = 0.0f;";
        assert_eq!(promised(body, Ordering::None), ["dx", "dy"]);
        assert_eq!(promised("dx[i] += y[i];", Ordering::None), ["dx"]);
    }

    #[test]
    fn an_array_through_which_threads_pass_values_is_not() {
        let body = "let r: float = dy[i]; dx[i] += (r * x[i]); dy[i] = 0.0f; barrier block;";
        assert_eq!(promised(body, Ordering::Barriers), ["dx"], "nobody reads it");
        assert_eq!(promised("dx[i] += dy[i]; barrier block;", Ordering::Hidden), ["dx", "dy"], "nobody writes dy");
        assert!(promised("dx[i] += 1.0f; let r: float = dx[(i + 1)];", Ordering::Barriers).is_empty());
    }

    #[test]
    fn nothing_is_where_pointers_in_memory_may_lead_anywhere() {
        assert!(promised("dx[i] += view.data[i];", Ordering::None).is_empty());
        assert!(promised("dview->data[i] += dx[i];", Ordering::None).is_empty());
        assert_eq!(promised("dx[i] += y[i]; let d: View = *dview;", Ordering::None), ["dx"], "no one follows it");
    }

    #[test]
    fn the_promise_is_in_the_type_and_above_the_function() {
        let source =
            "kernel k(x: const float*, dx: float*, dy: float*) { let p: float* = dx; p[0] = (dx[1] * dy[0]); }";
        let mut module = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
        let function = &mut module.functions[FunctionId(0)];
        promise(function, &["dx".into(), "dy".into()]);
        assert_eq!(function.note.as_deref(), Some("dx and dy must overlap no other array."));
        assert_eq!(crate::ir::validate(&module), Ok(()));
        let printed = text::print(&module);
        assert!(printed.contains("dx: float* restrict, dy: float* restrict"), "{printed}");
    }
}
