//! Refuses active memory that is seen as another type: the bits of a number carry no derivative.

use std::ops::ControlFlow;

use super::differentiable::have_same_leaves;
use crate::analysis::{Activity, Object, Objects, carries_floats};
use crate::diagnostic::{Diagnostic, NO_DERIVATIVE};
use crate::ir::walk::{self, Node, Part};
use crate::ir::{Expr, ExprKind, Function, Module, Space, Stmt, StmtKind, Storage, Type};

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
        let mut look = |node: Node<'_>| {
            if let Node::Expr(expr) = node
                && let ExprKind::Cast(operand) = &expr.kind
                && is_other_view(module, function, stmt, operand, expr)
                && objects.targets(operand).iter().any(|target| loses(function, activity, target))
            {
                found.push(Diagnostic::new(NO_DERIVATIVE, operand.span, MESSAGE, "on an active path").help(HELP));
            }
            ControlFlow::<()>::Continue(())
        };
        let _ = walk::stmt_parts(stmt, &mut |part| match part {
            Part::Expr(expr) => walk::visit_expr(expr, &mut look),
            Part::Place(place) => walk::visit_place(place, &mut look),
            Part::Block(_) => ControlFlow::Continue(()),
        });
    });
    found
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
