//! A pointer that moves, as where it began and an offset.
//!
//! The forward sweep of the split form has no adjoints, so it cannot record where a pointer to adjoints was. It can record a number:
//! `x += n` goes on as `x_offset += n`, and `*x` as `x[x_offset]`. `x` and its adjoint stay where they began.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::locals::{NewLocals, assign, declare};
use super::normalize::address_taken;
use crate::ir::walk::{self, NodeMut, PartMut};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, Function, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Type};

/// The function with offsets for those of these pointers that only ever move on from where they began.
pub(super) fn with_offsets(module: &Module, function: &Function, pointers: &BTreeSet<LocalId>) -> Function {
    let mut names = NewLocals::new(module, function);
    let mut function = function.clone();
    for pointer in pointers {
        if !only_moves(&function, *pointer) {
            continue;
        }
        let name = format!("{}_offset", function.locals[*pointer].name);
        let offset = names.add(&mut function, &name, Type::LONG);
        let mut body = std::mem::take(&mut function.body);
        rewrite(&mut body, *pointer, offset);
        if function.params.contains(pointer) {
            body.insert(0, begin(offset));
        } else {
            begin_after(&mut body, *pointer, offset);
        }
        function.body = body;
    }
    function
}

/// Whether all that a pointer is set to after its beginning is itself and an offset.
fn only_moves(function: &Function, pointer: LocalId) -> bool {
    let mut beginnings = usize::from(function.params.contains(&pointer));
    let mut moves = !address_taken(function).contains(&pointer);
    walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Declare { local, init } if *local == pointer => {
            beginnings += 1;
            moves &= init.is_some();
        }
        StmtKind::Assign { place, value } if place.as_local() == Some(pointer) => {
            moves &= step(value, pointer).is_some();
        }
        StmtKind::For(head) => moves &= head.counter != pointer,
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
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
        | StmtKind::Opaque { .. } => {
            moves &= !walk::written_places(stmt).iter().any(|place| place.as_local() == Some(pointer));
        }
    });
    moves && beginnings == 1
}

/// By how much a value is further than a pointer.
fn step(value: &Expr, pointer: LocalId) -> Option<Expr> {
    let ExprKind::Binary(BinaryOp::Offset, base, by) = &value.kind else { return None };
    let by = wide(by);
    if is_load(base, pointer) {
        return Some(by);
    }
    Some(Expr::binary(BinaryOp::Add, step(base, pointer)?, by))
}

/// A number of elements.
fn wide(count: &Expr) -> Expr {
    match count.as_int() {
        Some(count) => Expr::new(ExprKind::Int(count), Type::LONG),
        None => Expr::cast(count.clone(), Type::LONG),
    }
}

fn is_load(expr: &Expr, local: LocalId) -> bool {
    matches!(&expr.kind, ExprKind::Load(place) if place.as_local() == Some(local))
}

fn begin(offset: LocalId) -> Stmt {
    declare(offset, Some(Expr::new(ExprKind::Int(0), Type::LONG)))
}

/// Has an offset begin where its pointer does.
fn begin_after(block: &mut Block, pointer: LocalId, offset: LocalId) {
    if let Some(position) = block.iter().position(|stmt| walk::declared_local(stmt) == Some(pointer)) {
        block.insert(position + 1, begin(offset));
        return;
    }
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                begin_after(inner, pointer, offset);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Replaces the moves of a pointer, and then its values.
fn rewrite(body: &mut Block, pointer: LocalId, offset: LocalId) {
    let offset = Place::local(offset, Type::LONG);
    let _ = walk::visit_block_mut(body, &mut |node| {
        match node {
            NodeMut::Stmt(stmt) => {
                if let StmtKind::Assign { place, value } = &stmt.kind
                    && place.as_local() == Some(pointer)
                    && let Some(by) = step(value, pointer)
                {
                    let next = Expr::binary(BinaryOp::Add, Expr::load(offset.clone()), by);
                    *stmt = assign(offset.clone(), next).at(stmt.span);
                }
            }
            NodeMut::Expr(expr) if is_load(expr, pointer) => {
                *expr = Expr::binary(BinaryOp::Offset, expr.clone(), Expr::load(offset.clone()));
            }
            NodeMut::Place(Place { kind: PlaceKind::Element(base, index), .. }) => {
                if let ExprKind::Binary(BinaryOp::Offset, first, by) = &base.kind
                    && is_load(first, pointer)
                {
                    let by = (**by).clone();
                    **index = match index.as_int() {
                        Some(0) => by,
                        Some(_) | None => Expr::binary(BinaryOp::Add, by, wide(index)),
                    };
                    **base = (**first).clone();
                }
            }
            NodeMut::Expr(_) | NodeMut::Place(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
}
