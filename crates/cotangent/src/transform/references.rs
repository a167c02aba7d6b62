//! References that are bound later than they are declared become pointers, since C++ has no such references; and
//! pointers are written as reading what is printed would write them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::ir::walk::{self, NodeMut};
use crate::ir::{Expr, ExprKind, Function, LocalId, Module, Place, PlaceKind, Real, StmtKind, Type};

/// Makes pointers of the references that a function declares without saying to what.
pub(super) fn references_to_pointers(module: &Module, function: &mut Function) {
    let mut unbound: BTreeSet<LocalId> = BTreeSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Declare { local, init } = &stmt.kind
            && function.locals[*local].ty.is_reference()
            && init.as_ref().is_none_or(|init| init.kind == ExprKind::Null)
        {
            unbound.insert(*local);
        }
    });
    for local in &unbound {
        if let Type::Pointer(pointer) = &mut function.locals[*local].ty {
            pointer.is_reference = false;
        }
    }
    let mut body = std::mem::take(&mut function.body);
    // What is a pointer now, here or because it was recorded as one.
    let is_pointer = |local: &LocalId, ty: &Type| ty.is_reference() && !function.locals[*local].ty.is_reference();
    let _ = walk::visit_block_mut(&mut body, &mut |node| {
        match node {
            NodeMut::Place(place) => {
                if let PlaceKind::Local(local) = place.kind
                    && is_pointer(&local, &place.ty)
                {
                    place.ty = function.locals[local].ty.clone();
                }
            }
            NodeMut::Expr(expr) => {
                if let ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) = &expr.kind
                    && is_pointer(local, &expr.ty)
                {
                    expr.ty = function.locals[*local].ty.clone();
                }
                shorten(expr);
            }
            NodeMut::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    function.body = body;
    fit_references(module, function);
}

/// Turns pointers into references and the other way round where a variable or a parameter asks for it.
pub(super) fn fit_references(module: &Module, function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    let _ = walk::visit_block_mut(&mut body, &mut |node| {
        if let NodeMut::Stmt(stmt) = node {
            match &mut stmt.kind {
                StmtKind::Declare { local, init: Some(init) } => fit(init, &function.locals[*local].ty),
                StmtKind::Assign { place, value } => fit(value, &place.ty.clone()),
                StmtKind::Call { function: callee, args, .. } => {
                    let callee = &module.functions[*callee];
                    for (arg, param) in args.iter_mut().zip(&callee.params) {
                        fit(arg, &callee.locals[*param].ty);
                    }
                }
                StmtKind::Declare { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::If { .. }
                | StmtKind::For(_)
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Launch(_)
                | StmtKind::Runtime { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. }
                | StmtKind::Opaque { .. } => {}
            }
        } else if let NodeMut::Expr(expr) = node {
            let _ = shorten_pointer(expr);
        }
        ControlFlow::<()>::Continue(())
    });
    function.body = body;
}

/// What printing and reading again would make of an expression: `&*p` is `p`, and a constant is of the type that it is
/// converted to.
fn shorten(expr: &mut Expr) {
    if let (false, Some(value), Type::Float(_)) =
        (shorten_pointer(expr), expr.as_cast().and_then(Expr::as_int), &expr.ty)
        && value.abs() < 1 << 24
    {
        // Exact in every floating type but half.
        expr.kind = ExprKind::Float(Real(value as f64));
    }
}

/// Whether an expression was `&*p`, and is `p` now.
fn shorten_pointer(expr: &mut Expr) -> bool {
    let Some(Place { kind: PlaceKind::Element(pointer, index), .. }) = expr.as_address() else { return false };
    let is_same = pointer.ty.unrestricted() == expr.ty.unrestricted();
    if !index.is_zero() || !is_same || expr.ty.is_reference() {
        return false;
    }
    *expr = (**pointer).clone();
    true
}

/// Turns a pointer into a reference to the same, or the other way round, where a type asks for it.
fn fit(value: &mut Expr, wanted: &Type) {
    let is_bound = matches!(value.kind, ExprKind::AddressOf(_) | ExprKind::Select(..));
    let fits = value.ty.is_reference() == wanted.is_reference() && (is_bound || !wanted.is_reference());
    if fits || !value.ty.is_pointer() {
        return;
    }
    match &mut value.kind {
        ExprKind::AddressOf(_) | ExprKind::Null => {}
        ExprKind::Select(_, then, otherwise) => {
            fit(then, wanted);
            fit(otherwise, wanted);
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => {
            let pointed = Place::deref(value.clone());
            value.kind = ExprKind::AddressOf(pointed);
        }
    }
    value.ty = wanted.unrestricted();
}
