//! What the host knows of a kernel's values before it launches it.

use std::ops::ControlFlow;

use super::locals::without_spans;
use crate::analysis::affine::{Atom, INDEX_BITS, Values};
use crate::analysis::polynomial::Polynomial;
use crate::ir::walk::{PartMut, expr_parts_mut};
use crate::ir::{Axis, BinaryOp, Builtin, Expr, ExprKind, Place, PlaceKind, Storage, Type};

/// The axis whose coordinate an expression is.
pub(super) fn axis(values: &Values<'_>, expr: &Expr) -> Option<Axis> {
    let value = values.value(expr)?;
    Axis::ALL.into_iter().find(|axis| {
        let part = |builtin| values.atom(Atom::Builtin(builtin), 32);
        let of = |[block, size, thread]: [Polynomial; 3]| block.times(&size)?.plus(1, &thread);
        let parts = [Builtin::BlockIdx(*axis), Builtin::BlockDim(*axis), Builtin::ThreadIdx(*axis)].map(part);
        let wide = parts.clone().map(|part| values.widen(part, false, INDEX_BITS));
        let Some(narrow) = of(parts) else { return false };
        if value.bits == narrow.bits {
            return value == narrow;
        }
        // The coordinate is below two to the thirty: the launcher sees to it.
        of(wide).as_ref() == Some(&value)
            || [true, false].map(|signed| values.widen(narrow.clone(), signed, INDEX_BITS)).contains(&value)
    })
}

/// A number that is the same for the whole launch, in terms of the kernel's parameters and the sizes of the launch: the host
/// can compute it too.
pub(super) fn of_launch(values: &Values<'_>, expr: &Expr) -> Option<Expr> {
    let mut expr = without_spans(expr);
    settle(values, &mut expr)?;
    Some(expr)
}

fn settle(values: &Values<'_>, expr: &mut Expr) -> Option<()> {
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::SizeOf(_) | ExprKind::Builtin(Builtin::BlockDim(_) | Builtin::GridDim(_)) => {
            return Some(());
        }
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
            let uses = &values.locals[*local];
            let known = &values.function.locals[*local];
            if known.storage != Storage::Private || !matches!(known.ty, Type::Int(_)) || !uses.is_constant() {
                return None;
            }
            if values.function.params.contains(local) {
                return Some(());
            }
            let mut value = without_spans(uses.constant()?);
            settle(values, &mut value)?;
            *expr = value;
            return Some(());
        }
        // The host stops at a division by zero, which a device does not.
        ExprKind::Binary(BinaryOp::Divide | BinaryOp::Remainder, _, divisor)
            if divisor.as_int().is_none_or(|it| it == 0) =>
        {
            return None;
        }
        ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cast(_) => {}
        ExprKind::Bool(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Select(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::Construct(_) => return None,
    }
    let all = expr_parts_mut(expr, &mut |part| match part {
        PartMut::Expr(operand) => match settle(values, operand) {
            Some(()) => ControlFlow::Continue(()),
            None => ControlFlow::Break(()),
        },
        PartMut::Place(_) | PartMut::Block(_) => ControlFlow::Break(()),
    });
    all.is_continue().then_some(())
}
