//! In the framework form, incoming cotangents that nobody changes: the arrays are the framework's.
//!
//! The reverse of a store reads the adjoint of the element and sets it to zero, since what the element held before is lost. If
//! the function does nothing but store to an array, and to each element once at most (`analysis/param_uses.rs`), nobody looks at
//! that adjoint again: the zeros go, and the array is `const`. They go after all proofs, for a zero that a thread stores tells
//! that the element is its own.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::AdjointParam;
use super::simplify::{is_zero, retain, simplify};
use crate::analysis::locals::locals;
use crate::analysis::race::written;
use crate::analysis::root::{Root, Roots};
use crate::ir::walk::{self, NodeMut, Part};
use crate::ir::{
    BinaryOp, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Type,
};

/// Has a derivative leave the adjoints of these parameters of the primal as they are. One that it may change all the same is no
/// `const`.
pub(super) fn keep_cotangents(
    module: &mut Module,
    id: FunctionId,
    adjoints: &[AdjointParam],
    once: &BTreeSet<LocalId>,
) {
    let meant: Vec<LocalId> =
        adjoints.iter().filter(|param| once.contains(&param.primal)).map(|param| param.adjoint).collect();
    let before = &module.functions[id];
    let uses = locals(before);
    let roots = Roots::new(module, before, &uses);
    let is_meant = |root: &Root| matches!(root, Root::Param(param) if meant.contains(param));
    let is_clearing = |stmt: &Stmt| {
        let StmtKind::Assign { place, value } = &stmt.kind else { return false };
        !matches!(place.kind, PlaceKind::Local(_)) && is_zero(value) && roots.place(place).iter().all(is_meant)
    };
    let mut function = before.clone();
    retain(&mut function.body, &|stmt| !is_clearing(stmt));
    simplify(&mut function);
    for param in meant {
        let is_changed = |root: &Root| *root == Root::Param(param) || root.is_open();
        let uses = locals(&function);
        let changed = written(&Roots::new(module, &function, &uses), &function.body);
        let held = pointers_to(&function, param);
        if !changed.iter().any(is_changed) && !escapes(&function, &held) {
            make_constant(&mut function, &held);
        }
    }
    module.functions.set(id, function);
}

/// The variables that may hold pointers to what a parameter points to.
fn pointers_to(function: &Function, param: LocalId) -> BTreeSet<LocalId> {
    let mut held = BTreeSet::from([param]);
    loop {
        let before = held.len();
        walk::each_stmt(&function.body, &mut |stmt| {
            let given = given_pointer(stmt).filter(|(_, value)| mentions(value, &held));
            held.extend(given.map(|(local, _)| local));
        });
        if held.len() == before {
            return held;
        }
    }
}

/// The variable that a statement gives a pointer, and the pointer.
fn given_pointer(stmt: &Stmt) -> Option<(LocalId, &Expr)> {
    let given = if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind {
        Some((*local, init))
    } else {
        stmt.as_assign().and_then(|(place, value)| Some((place.as_local()?, value)))
    };
    given.filter(|(_, value)| value.ty.is_pointer())
}

fn mentions(value: &Expr, held: &BTreeSet<LocalId>) -> bool {
    walk::loads_any(value, &mut |place| place.as_local().is_some_and(|local| held.contains(&local)))
}

/// Whether any of these pointers goes where it is not followed: into memory or a record, or to another function.
fn escapes(function: &Function, held: &BTreeSet<LocalId>) -> bool {
    let mut is_found = false;
    walk::each_stmt(&function.body, &mut |stmt| {
        is_found |= given_pointer(stmt).is_none() && holds_pointer(stmt, held);
    });
    is_found
}

/// Whether a statement itself has one of these pointers as a value, and not only to find a place by.
fn holds_pointer(stmt: &Stmt, held: &BTreeSet<LocalId>) -> bool {
    walk::stmt_parts(stmt, &mut |part| {
        let is_held = matches!(part, Part::Expr(expr) if is_pointer_value(expr, held));
        if is_held { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .is_break()
}

fn is_pointer_value(expr: &Expr, held: &BTreeSet<LocalId>) -> bool {
    if expr.ty.is_pointer() && mentions(expr, held) {
        return true;
    }
    let found = walk::expr_parts(expr, &mut |part| match part {
        Part::Expr(operand) if is_pointer_value(operand, held) => ControlFlow::Break(()),
        Part::Expr(_) | Part::Place(_) | Part::Block(_) => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Makes variables pointers to `const`, and expressions with them.
fn make_constant(function: &mut Function, held: &BTreeSet<LocalId>) {
    for local in held {
        constant(&mut function.locals[*local].ty);
    }
    // Operands come before what is made of them.
    let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
        match node {
            NodeMut::Expr(expr) if points_to_constant(expr, held) => constant(&mut expr.ty),
            NodeMut::Place(place) if place.as_local().is_some_and(|local| held.contains(&local)) => {
                constant(&mut place.ty);
            }
            NodeMut::Expr(_) | NodeMut::Place(_) | NodeMut::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Whether an expression is a pointer to `const`, as what it is made of is.
fn points_to_constant(expr: &Expr, held: &BTreeSet<LocalId>) -> bool {
    let is_const = |operand: &Expr| matches!(&operand.ty, Type::Pointer(pointer) if pointer.is_const);
    expr.ty.is_pointer()
        && match &expr.kind {
            ExprKind::Load(place) => place.as_local().is_some_and(|local| held.contains(&local)),
            ExprKind::Binary(BinaryOp::Offset, base, _) | ExprKind::Cast(base) => {
                is_const(base) && mentions(base, held)
            }
            ExprKind::Select(_, then, otherwise) => {
                [then, otherwise].iter().any(|operand| is_const(operand) && mentions(operand, held))
            }
            ExprKind::AddressOf(Place { kind: PlaceKind::Element(pointer, _), .. }) => {
                is_const(pointer) && mentions(pointer, held)
            }
            ExprKind::AddressOf(_)
            | ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        }
}

/// Makes a pointer one to `const`.
fn constant(ty: &mut Type) {
    if let Type::Pointer(pointer) = ty {
        pointer.is_const = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    /// What is left of a derivative, whose `dy` is the adjoint of `y`.
    fn kept(body: &str) -> String {
        let source = format!("kernel k(y: float*, dx: float*, dy: float*, i: int) {{ {body} }}");
        let mut module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let id = module.function("k").unwrap();
        let adjoint = AdjointParam {
            adjoint: LocalId(2),
            primal: LocalId(0),
            is_shared: true,
            is_anywhere: false,
            is_contended: false,
        };
        keep_cotangents(&mut module, id, &[adjoint], &BTreeSet::from([LocalId(0)]));
        assert_eq!(crate::ir::validate(&module), Ok(()));
        text::print(&module)
    }

    #[test]
    fn zeros_go_and_the_array_is_constant() {
        let text = kept("dx[i] += dy[i]; dy[i] = 0.0f;");
        assert!(text.contains("dy: const float*") && !text.contains("0.0"), "{text}");
        let text = kept("let q: float* = (dy + i); dx[i] += *q; *q = 0.0f;");
        assert!(text.contains("q: const float*"), "{text}");
    }

    #[test]
    fn an_array_that_is_changed_all_the_same_is_not() {
        let text = kept("dy[i] += 1.0f; dx[i] += dy[i]; dy[i] = 0.0f;");
        assert!(text.contains("dy: float*"), "{text}");
    }
}
