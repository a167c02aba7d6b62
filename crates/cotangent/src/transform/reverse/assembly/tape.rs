//! The record of a host function: a tape in the host's memory.

use std::ops::ControlFlow;

use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, LocalId, Place, StmtKind, Type};
use crate::rules::{PUSH, RESERVE, TAPE};
use crate::transform::locals::{NewLocals, declare};

/// Replaces `Push` and `Pop` by calls of the runtime, declares the tape, and names it where an array is reserved.
pub(in crate::transform::reverse) fn lower(function: &mut Function, names: &mut NewLocals) {
    let tape = names.add(function, "_tape", Type::Opaque(TAPE.into()));
    let mut body = std::mem::take(&mut function.body);
    replace(&mut body, tape);
    body.insert(0, declare(tape, None));
    function.body = body;
}

fn replace(block: &mut Block, tape: LocalId) {
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                replace(inner, tape);
            }
            ControlFlow::<()>::Continue(())
        });
        let place = Place::local(tape, Type::Opaque(TAPE.into()));
        let reference = Type::reference(place.ty.clone());
        let tape = Expr::new(ExprKind::AddressOf(place), reference);
        if let StmtKind::Push { value, .. } = &stmt.kind {
            let args = vec![tape, value.clone()];
            stmt.kind = StmtKind::Runtime { call: PUSH.into(), args, into: None };
        } else if let StmtKind::Pop { into, .. } = &stmt.kind {
            let into = Some(into.clone());
            stmt.kind = StmtKind::Runtime { call: "cotangent::pop".into(), args: vec![tape], into };
        } else if let StmtKind::Runtime { call, args, .. } = &mut stmt.kind
            && **call == *RESERVE
        {
            args.insert(0, tape);
        }
    }
}
