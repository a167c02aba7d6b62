//! Memory that a host function frees before its reverse sweep: it is kept until the derivative ends.

use std::ops::ControlFlow;

use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, Place, StmtKind, Type};
use crate::rules::{FREES, frees_later};
use crate::transform::locals::{NewLocals, declare};

/// Gives the calls that free something later what keeps it until then, and declares that.
pub(in crate::transform::reverse) fn lower(function: &mut Function, names: &mut NewLocals) {
    let mut is_used = false;
    walk::each_stmt(&function.body, &mut |stmt| {
        is_used |= matches!(&stmt.kind, StmtKind::Runtime { call, .. } if frees_later(call));
    });
    if !is_used {
        return;
    }
    let frees = names.add(function, "_frees", Type::Opaque(FREES.into()));
    let place = Place::local(frees, Type::Opaque(FREES.into()));
    let reference = Type::reference(place.ty.clone());
    let mut body = std::mem::take(&mut function.body);
    hand_over(&mut body, &Expr::new(ExprKind::AddressOf(place), reference));
    body.insert(0, declare(frees, None));
    function.body = body;
}

fn hand_over(block: &mut Block, frees: &Expr) {
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                hand_over(inner, frees);
            }
            ControlFlow::<()>::Continue(())
        });
        if let StmtKind::Runtime { call, args, .. } = &mut stmt.kind
            && frees_later(call)
        {
            args.insert(0, frees.clone());
        }
    }
}
