//! Refuses active memory that is seen as another type: the bits of a number carry no derivative.
//!
//! *Flags.* Let a number be seen as an integer where it is read, and let nothing be computed of that integer but integers, up to a
//! truth value: `if (*(unsigned*)&cell[FLAGS] & WALL)`. Then its bits decide, and what decides has no derivative, as in any
//! comparison. Such a view is not refused. It is never stored through, and no number is made of it.

use std::ops::ControlFlow;

use super::differentiable::have_same_leaves;
use crate::analysis::{Activity, Object, Objects, carries_floats};
use crate::diagnostic::{Diagnostic, NO_DERIVATIVE};
use crate::ir::walk::{self, Part};
use crate::ir::{Expr, ExprKind, Function, Module, PlaceKind, Space, Stmt, StmtKind, Storage, Type};

/// What is said of such memory.
pub(super) const MESSAGE: &str = "active memory is seen as another type";

/// What to do about it.
pub(super) const HELP: &str = "point to the type that the memory has, or to a vector of it";

/// What is wrong with the pointers of a function.
pub(super) fn refused_views(
    module: &Module,
    function: &Function,
    objects: &Objects<'_>,
    activity: &Activity,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        for (cast, operand) in views(stmt) {
            if is_other_view(module, function, stmt, operand, cast)
                && objects.targets(operand).iter().any(|target| loses(function, activity, target))
            {
                found.push(Diagnostic::new(NO_DERIVATIVE, operand.span, MESSAGE, "on an active path").help(HELP));
            }
        }
    });
    found
}

/// The conversions of pointers in a statement, each with what is converted, but for those through which flags are read.
pub(super) fn views(stmt: &Stmt) -> Vec<(&Expr, &Expr)> {
    let mut found = Vec::new();
    let _ = walk::stmt_parts(stmt, &mut |part| {
        views_in(part, false, &mut found);
        ControlFlow::<()>::Continue(())
    });
    found
}

/// The same of a part; `decides` if a truth value is made of it, by integers alone.
fn views_in<'a>(part: Part<'a>, decides: bool, found: &mut Vec<(&'a Expr, &'a Expr)>) {
    let mut inside = |part: Part<'a>, decides: bool| views_in(part, decides, found);
    let _ = match part {
        Part::Block(_) => return,
        Part::Place(place) => walk::place_parts(place, &mut |part| {
            inside(part, false);
            ControlFlow::<()>::Continue(())
        }),
        Part::Expr(expr) => {
            let decides = match expr.ty {
                Type::Bool => true,
                Type::Int(_) => decides,
                Type::Void
                | Type::Float(_)
                | Type::Pointer(_)
                | Type::Array(..)
                | Type::Record(_)
                | Type::Opaque(_) => false,
            };
            if let Some((pointer, index)) = read_flags(expr).filter(|_| decides) {
                inside(Part::Expr(pointer.uncast_pointer()), false);
                return inside(Part::Expr(index), false);
            }
            let all = walk::expr_parts(expr, &mut |part| {
                views_in(part, decides, found);
                ControlFlow::<()>::Continue(())
            });
            if let ExprKind::Cast(operand) = &expr.kind
                && operand.ty.is_pointer()
                && expr.ty.is_pointer()
            {
                found.push((expr, operand));
            }
            all
        }
    };
}

/// The pointer and the index of an integer that is read from memory.
fn read_flags(expr: &Expr) -> Option<(&Expr, &Expr)> {
    match (&expr.as_load()?.kind, &expr.ty) {
        (PlaceKind::Element(pointer, index), Type::Int(_)) => Some((pointer, index)),
        _ => None,
    }
}

/// Whether a conversion of a pointer gives memory another type.
pub(super) fn is_other_view(module: &Module, function: &Function, stmt: &Stmt, operand: &Expr, cast: &Expr) -> bool {
    let (Some(from), Some(to)) = (operand.ty.pointee(), cast.ty.pointee()) else { return false };
    // Runtime calls copy bytes, and take them as `void*`; what new memory holds is said by the first pointer to it.
    let is_of_bytes = *to == Type::Void && matches!(stmt.kind, StmtKind::Runtime { .. });
    let is_new = *from == Type::Void && function.space == Space::Host;
    let holds_numbers = |ty: &Type| carries_floats(module, ty);
    !is_of_bytes && !is_new && (holds_numbers(from) || holds_numbers(to)) && !have_same_leaves(module, from, to)
}

/// Whether derivatives would be lost. Parts of dynamic shared memory have any types.
fn loses(function: &Function, activity: &Activity, target: &Object) -> bool {
    let is_dynamic = |local| function.locals[local].storage == Storage::DynamicShared;
    activity.is_touched(target) && !target.as_local().is_some_and(is_dynamic)
}
