//! Vectors of integers that only carry the bits of floating numbers are vectors of these.
//!
//! `*(int4*)y = *(const int4*)x` copies four floats. The bits of a number carry no derivative, but a type whose parts nobody
//! looks at, and which is only ever seen in memory of floats, might as well be `float4`: it has the same size and alignment,
//! and a copy of the one is a copy of the other. So both modes begin with a module in which it is.

use std::ops::ControlFlow;

use super::differentiable::is_made_of;
use crate::ir::walk::{self, Node};
use crate::ir::{Expr, ExprKind, FloatKind, Function, FunctionId, IntKind, Module, PlaceKind, RecordId, Type};

/// A module in which such vectors are of floats. The function that is asked for stays as it is called.
pub(super) fn carried_bits(module: &Module, requested: FunctionId) -> Module {
    let mut carried = module.clone();
    for id in module.records.ids() {
        let Some(kind) = number_of_its_size(module, id) else { continue };
        if is_seen_outside(module, requested, id) || !is_only_carried(module, id, kind) {
            continue;
        }
        let record = &mut carried.records[id];
        let parts = record.fields.len();
        record.name = format!("{}{parts}", kind.spelling()).into();
        record.fields.iter_mut().for_each(|field| field.ty = Type::Float(kind));
    }
    carried
}

/// The floating type of which a vector of integers might carry the bits: of CUDA's own, since these have the alignment of
/// their like.
fn number_of_its_size(module: &Module, id: RecordId) -> Option<FloatKind> {
    let record = &module.records[id];
    let is_all = |kinds: &[IntKind]| {
        record.fields.iter().all(|field| matches!(field.ty, Type::Int(kind) if kinds.contains(&kind)))
    };
    match record.fields.len() {
        _ if !record.is_builtin || !record.name.ends_with(|last: char| last.is_ascii_digit()) => None,
        2 | 4 if is_all(&[IntKind::Int, IntKind::UnsignedInt]) => Some(FloatKind::Float),
        2 if is_all(&[IntKind::LongLong, IntKind::UnsignedLongLong]) => Some(FloatKind::Double),
        _ => None,
    }
}

/// Whether text that is not made anew mentions the type: variables and records of the program, functions that are called from
/// elsewhere, and rules.
fn is_seen_outside(module: &Module, requested: FunctionId, id: RecordId) -> bool {
    let mentions = |ty: &Type| ty.mentioned_record() == Some(id);
    let is_handed_in = |function: &Function| function.params.iter().any(|param| mentions(&function.locals[*param].ty));
    let rules = module.rules.iter().flat_map(|rule| rule.kind.functions().into_iter().chain([rule.function]));
    module.globals.iter().any(|global| mentions(&global.ty))
        || module.records.iter().any(|record| record.fields.iter().any(|field| mentions(&field.ty)))
        || rules.chain([requested]).any(|function| is_handed_in(&module.functions[function]))
}

/// Whether the parts of such a vector are never looked at, and memory that is seen as one is memory of such numbers.
fn is_only_carried(module: &Module, id: RecordId, kind: FloatKind) -> bool {
    let is_it = |ty: &Type| *ty.innermost_element() == Type::Record(id);
    let is_view_of_numbers = |expr: &Expr, operand: &Expr| match (operand.ty.pointee(), expr.ty.pointee()) {
        (Some(from), Some(to)) if is_it(from) && is_it(to) => true,
        (Some(from), Some(to)) if is_it(from) => is_made_of(module, to, &Type::Float(kind)),
        (Some(from), Some(to)) if is_it(to) => is_made_of(module, from, &Type::Float(kind)),
        // A pointer of it that becomes a number, or the other way round.
        (Some(only), None) | (None, Some(only)) => !is_it(only),
        _ => true,
    };
    // Of a size, the check might make another one, where numbers are wider.
    let is_used_up = |expr: &Expr| {
        matches!(&expr.kind, ExprKind::Cast(operand) if !is_view_of_numbers(expr, operand))
            || matches!(&expr.kind, ExprKind::SizeOf(ty) if is_it(ty))
            || (matches!(expr.kind, ExprKind::Construct(_)) && is_it(&expr.ty))
    };
    let look = &mut |node: Node<'_>| {
        let is_looked_into = match node {
            Node::Expr(expr) => is_used_up(expr),
            Node::Place(place) => matches!(&place.kind, PlaceKind::Field(record, _) if is_it(&record.ty)),
            Node::Stmt(_) => false,
        };
        if is_looked_into { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    module.functions.iter().all(|function| walk::visit_block(&function.body, look).is_continue())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// What the vector is after the pass, in a kernel with this parameter and this body.
    fn vector(parameter: &str, body: &str) -> String {
        let text = format!(
            "builtin record int4 {{ x: int, y: int, z: int, w: int }}
             kernel k(x: const float*, y: {parameter}) {{ {body} }}"
        );
        let module = text::parse(&text).expect("the text is well-formed");
        let requested = module.functions.ids().last().expect("a function");
        carried_bits(&module, requested).records.iter().next().expect("a record").name.to_string()
    }

    #[test]
    fn what_is_only_copied_is_of_floats() {
        assert_eq!(vector("float*", "*(y as int4*) = *(x as const int4*);"), "float4");
    }

    #[test]
    fn what_is_looked_into_stays() {
        assert_eq!(vector("float*", "let v: int4 = *(x as const int4*); let w: int = v.x;"), "int4");
    }

    #[test]
    fn memory_of_something_else_stays() {
        assert_eq!(vector("int*", "*(y as int4*) = *(x as const int4*);"), "int4");
        assert_eq!(vector("double*", "*(y as int4*) = *(x as const int4*);"), "int4");
    }

    #[test]
    fn what_is_handed_in_stays() {
        assert_eq!(vector("int4*", "y[0] = *(x as const int4*);"), "int4");
    }
}
