//! `while` loops that count become counted loops: these need neither a record of their counter nor one of their length.
//!
//! `int i = 0; while (i < n) { …; i++; }`, where nothing else in the body changes `i` and nothing after the loop reads it.

use crate::ir::same::same_place;
use crate::ir::walk::{self, PartMut, own_variable};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, Function, LocalId, LoopTest, Place, Stmt, StmtKind};

/// Rewrites the loops of a function.
pub(in crate::transform) fn counted_loops(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    rewrite(&mut body);
    function.body = body;
}

fn rewrite(block: &mut Block) {
    for stmt in block.iter_mut() {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                rewrite(inner);
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
    }
    let mut position = 1;
    while position < block.len() {
        let (before, rest) = block.split_at(position);
        let counted = before.last().and_then(|first| counted(first, &rest[0], &rest[1..]));
        match counted {
            Some(counted) => drop(block.splice(position - 1..=position, [counted])),
            None => position += 1,
        }
    }
}

/// A declaration and the loop after it as one counted loop.
fn counted(first: &Stmt, stmt: &Stmt, after: &[Stmt]) -> Option<Stmt> {
    let StmtKind::Declare { local, init: Some(from) } = &first.kind else { return None };
    let StmtKind::While { cond, body, test: LoopTest::Before } = &stmt.kind else { return None };
    let counter = Place::local(*local, from.ty.clone());
    let is_counter = |expr: &Expr| matches!(&expr.kind, ExprKind::Load(place) if same_place(place, &counter));
    let ExprKind::Binary(test, left, to) = &cond.kind else { return None };
    let (last, body) = body.split_last()?;
    let StmtKind::Assign { place, value } = &last.kind else { return None };
    let ExprKind::Binary(step @ (BinaryOp::Add | BinaryOp::Subtract), old, by) = &value.kind else { return None };
    let is_loop = test.is_comparison()
        && from.ty.is_integral()
        && is_counter(left)
        && same_place(place, &counter)
        && is_counter(old)
        && matches!(by.kind, ExprKind::Int(_))
        && !walk::expr_mentions(to, *local);
    if !is_loop || walk::mentions(after, *local) || changes(body, *local) {
        return None;
    }
    let head = For {
        counter: *local,
        from: from.clone(),
        test: *test,
        to: (**to).clone(),
        step: *step,
        by: (**by).clone(),
        unroll: None,
        body: body.to_vec(),
    };
    Some(Stmt::new(StmtKind::For(Box::new(head))).at(stmt.span))
}

/// Whether a block writes a variable, or lets something else write it.
fn changes(block: &[Stmt], local: LocalId) -> bool {
    let mut found = false;
    walk::each_stmt(block, &mut |stmt| {
        found |= walk::written_places(stmt).into_iter().any(|place| own_variable(place) == Some(local));
    });
    walk::each_expr(block, &mut |expr| {
        found |= matches!(&expr.kind, ExprKind::AddressOf(place) if own_variable(place) == Some(local));
    });
    found
}
