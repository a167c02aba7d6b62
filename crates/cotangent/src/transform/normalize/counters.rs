//! Loops that count with something else than a whole number become `while` loops: their counter may carry derivatives,
//! or point to what does, and is then a variable like any other.

use super::super::locals::{NewLocals, assign, declare};
use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Expr, Function, LoopTest, Module, Place, Stmt, StmtKind, Type};

/// Rewrites the loops of a function whose counter is no integer. Jumps have been removed.
pub(in crate::transform) fn loops_without_numbers(module: &Module, function: &mut Function) {
    let mut names = NewLocals::new(module, function);
    let mut body = std::mem::take(&mut function.body);
    rewrite(&mut body, function, &mut names);
    function.body = body;
}

fn rewrite(block: &mut Block, function: &mut Function, names: &mut NewLocals) {
    let mut out = Block::new();
    for mut stmt in std::mem::take(block) {
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                rewrite(inner, function, names);
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
        if let StmtKind::For(head) = &mut stmt.kind
            && !matches!(function.locals[head.counter].ty, Type::Int(_))
        {
            let counter = Place::local(head.counter, function.locals[head.counter].ty.clone());
            let next = Expr::binary(head.step, Expr::load(counter.clone()), head.by.clone());
            let step = assign(counter.clone(), next).at(stmt.span);
            let left = Expr::cast(Expr::load(counter), head.to.ty.clone());
            let cond = Expr::binary(head.test, left, head.to.clone());
            // The test that leaves the loop stays last, and is made before the counter moves on.
            if let Some(StmtKind::If { cond: leave, .. }) = head.body.last().map(|last| &last.kind)
                && is_exit(head.body.last())
            {
                let stop = names.add(function, "_stop", Type::Bool);
                let leave = leave.clone();
                head.body.pop();
                head.body.push(declare(stop, Some(leave)));
                head.body.push(step);
                head.body.push(Stmt::new(StmtKind::If {
                    cond: Expr::load(Place::local(stop, Type::Bool)),
                    then_block: vec![Stmt::new(StmtKind::Break)],
                    else_block: Block::new(),
                }));
            } else {
                head.body.push(step);
            }
            out.push(declare(head.counter, Some(head.from.clone())).at(stmt.span));
            let kind = StmtKind::While { cond, body: std::mem::take(&mut head.body), test: LoopTest::Before };
            out.push(Stmt::new(kind).at(stmt.span));
        } else {
            out.push(stmt);
        }
    }
    *block = out;
}

fn is_exit(stmt: Option<&Stmt>) -> bool {
    matches!(stmt, Some(Stmt { kind: StmtKind::If { then_block, .. }, .. })
        if matches!(then_block.as_slice(), [Stmt { kind: StmtKind::Break, .. }]))
}
