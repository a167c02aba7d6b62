//! How many slots of the record a launch needs: the forward sweep without its effects, which counts instead of recording.

use std::collections::BTreeSet;

use super::super::locals::{assign, declare, tell_apart};
use super::function::Ctx;
use super::slice::Sliced;
use crate::diagnostic::{Diagnostic, RECORD_SIZE};
use crate::ir::walk;
use crate::ir::{
    AtomicOp, BinaryOp, Block, Expr, ExprKind, Function, LocalId, Place, Scope, Space, Stmt, StmtKind, Type,
};

/// A kernel that raises `*_slots` to the number of slots that its thread needs, the first `reserved` included; an error
/// if that depends on memory which the kernel writes. None for a function that is no kernel.
pub(super) fn count_slots(ctx: &mut Ctx<'_>, body: &Block, reserved: i128) -> Option<Function> {
    if ctx.primal.space != Space::Kernel {
        return None;
    }
    let count = ctx.names.add(&mut ctx.function, "_count", Type::UINT);
    let first = Expr::new(ExprKind::Int(reserved), Type::UINT);
    let mut counting = vec![declare(count, Some(first))];
    counting.extend(body.iter().cloned());
    replace_pushes(&mut counting, count);
    let mut needed = BTreeSet::from([count]);
    let mut part = Sliced::default();
    if let Err(span) = ctx.slice_first(&counting, &mut needed, &mut part) {
        let message = "how much is recorded depends on memory that the kernel writes";
        let span = if span.is_none() { ctx.primal.span } else { span };
        ctx.report(
            Diagnostic::new(
                RECORD_SIZE,
                span,
                message,
                "so the size of the record cannot be counted before the launch",
            )
            .help("say how many slots a thread may need with `--record-slots`; a launch that needs more is an error"),
        );
        return None;
    }

    let body = [ctx.undeclared(&part.slice), part.slice].concat();

    let mut function = Function {
        name: format!("{}_slots", ctx.function.name).into(),
        params: ctx.primal.params.clone(),
        result: Type::Void,
        body,
        launch_bounds: ctx.primal.launch_bounds,
        ..ctx.function.clone()
    };
    let pointer = Type::pointer(Type::UINT);
    let slots = ctx.names.add(&mut function, "_slots", pointer.clone());
    function.params.push(slots);
    let most = StmtKind::Atomic {
        op: AtomicOp::Max,
        scope: Scope::Device,
        place: Place::deref(Expr::load(Place::local(slots, pointer))),
        value: Expr::load(Place::local(count, Type::UINT)),
        compare: None,
        into: None,
    };
    function.body.push(Stmt::new(most));
    tell_apart(&mut function, &mut ctx.names);
    Some(function)
}

fn replace_pushes(block: &mut Block, count: LocalId) {
    for stmt in block {
        if matches!(stmt.kind, StmtKind::Push { .. }) {
            let place = Place::local(count, Type::UINT);
            let one = Expr::new(ExprKind::Int(1), Type::UINT);
            *stmt = assign(place.clone(), Expr::binary(BinaryOp::Add, Expr::load(place), one));
        }
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let walk::PartMut::Block(inner) = part {
                replace_pushes(inner, count);
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
    }
}
