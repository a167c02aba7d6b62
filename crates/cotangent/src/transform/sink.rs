//! Declares variables where they are used: in the branch that alone mentions them, with their first value. What is returned at
//! once needs none.

use std::ops::ControlFlow;

use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, ExprKind, Function, Place, PlaceKind, Stmt, StmtKind, Storage};

/// Moves declarations without a value down. What threads share stays where all of them see it, and what does something at the
/// end of its life lives as long as before.
pub(super) fn sink(function: &mut Function) {
    let mut body = std::mem::take(&mut function.body);
    sink_in(function, &mut body);
    function.body = body;
}

fn sink_in(function: &Function, block: &mut Block) {
    let mut position = 0;
    while position < block.len() {
        if !sink_one(function, block, position) {
            position += 1;
        }
    }
    return_at_once(block);
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                sink_in(function, inner);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Whether the declaration at a position has gone from there.
fn sink_one(function: &Function, block: &mut Block, position: usize) -> bool {
    let StmtKind::Declare { local, init: None } = block[position].kind else { return false };
    let variable = &function.locals[local];
    let is_plain = variable.ty.is_arithmetic() || variable.ty.is_pointer();
    if variable.storage != Storage::Private || !is_plain {
        return false;
    }
    let mut users = (position + 1..block.len()).filter(|user| walk::mentions(&block[*user..=*user], local));
    let (Some(first), second) = (users.next(), users.next()) else { return false };
    drop(users);
    if let StmtKind::Assign { place, value } = &block[first].kind
        && place.as_local() == Some(local)
        && !walk::expr_mentions(value, local)
    {
        let init = Some(value.clone());
        block[first].kind = StmtKind::Declare { local, init };
    } else if let StmtKind::If { cond, then_block, else_block } = &mut block[first].kind
        && second.is_none()
        && !walk::expr_mentions(cond, local)
    {
        let branch = match [&then_block, &else_block].map(|branch| walk::mentions(branch, local)) {
            [true, false] => then_block,
            [false, true] => else_block,
            [_, _] => return false,
        };
        branch.insert(0, Stmt::new(StmtKind::Declare { local, init: None }));
    } else {
        return false;
    }
    block.remove(position);
    true
}

/// `let a = b; return a;` is `return b;`.
fn return_at_once(block: &mut Block) {
    let [.., declaration, last] = block.as_mut_slice() else { return };
    if let StmtKind::Declare { local, init: Some(init) } = &declaration.kind
        && let StmtKind::Return(Some(value)) = &mut last.kind
        && matches!(&value.kind, ExprKind::Load(Place { kind: PlaceKind::Local(read), .. }) if read == local)
    {
        *value = init.clone();
        block.remove(block.len() - 2);
    }
}
