//! The record of a host function: a tape in the host's memory.

use std::ops::ControlFlow;

use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, Expr, ExprKind, Function, Place, StmtKind, Type};
use crate::rules::{PUSH, RESERVE, TAPE};
use crate::transform::locals::{NewLocals, declare};

const NAME: &str = "_tape";

/// Replaces `Push` and `Pop` by calls of the runtime, declares the tape, and names it where an array is reserved.
pub(in crate::transform::reverse) fn lower(function: &mut Function, names: &mut NewLocals) {
    if !keeps_anything(&function.body) {
        return;
    }
    let tape = names.add(function, NAME, Type::Opaque(TAPE.into()));
    replace(&mut function.body, &Place::local(tape, Type::Opaque(TAPE.into())));
    function.body.insert(0, declare(tape, None));
}

/// Whether something is left that goes to the tape.
fn keeps_anything(body: &Block) -> bool {
    let mut found = false;
    walk::each_stmt(body, &mut |stmt| {
        found |= matches!(stmt.kind, StmtKind::Push { .. } | StmtKind::Pop { .. })
            || matches!(&stmt.kind, StmtKind::Runtime { call, .. } if **call == *RESERVE);
    });
    found
}

/// The same where the tape is the last parameter.
pub(in crate::transform::reverse) fn lower_given(function: &mut Function, names: &mut NewLocals) {
    let reference = Type::reference(Type::Opaque(TAPE.into()));
    let tape = names.add(function, NAME, reference.clone());
    function.params.push(tape);
    replace(&mut function.body, &Place::deref(Expr::load(Place::local(tape, reference))));
}

fn replace(block: &mut Block, tape: &Place) {
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                replace(inner, tape);
            }
            ControlFlow::<()>::Continue(())
        });
        let reference = Type::reference(tape.ty.clone());
        let by_reference = Expr::new(ExprKind::AddressOf(tape.clone()), reference);
        if let StmtKind::Push { value, .. } = &stmt.kind {
            let args = vec![by_reference, value.clone()];
            stmt.kind = StmtKind::Runtime { call: PUSH.into(), args, into: None };
        } else if let StmtKind::Pop { into, .. } = &stmt.kind {
            let into = Some(into.clone());
            stmt.kind = StmtKind::Runtime { call: "cotangent::pop".into(), args: vec![by_reference], into };
        } else if let StmtKind::Runtime { call, args, .. } = &mut stmt.kind
            && **call == *RESERVE
        {
            args.insert(0, by_reference);
        }
    }
}
