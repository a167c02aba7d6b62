//! Values that are used on some ways through the function only. On the others their adjoint is exactly zero, and must not
//! meet a derivative that is infinite: zero times infinity is no number.

use std::collections::HashSet;
use std::ops::ControlFlow;

use crate::ir::walk;
use crate::ir::{Function, LocalId, Stmt, StmtKind, Storage, Type};

/// The variables with a value that is read, if at all, only inside branches that come later.
pub(in crate::transform::reverse) fn used_sometimes(function: &Function) -> HashSet<LocalId> {
    let mut found = HashSet::new();
    look(function, &function.body, &mut Vec::new(), &mut found);
    found
}

/// `after` are the statements that follow the blocks around this one.
fn look<'a>(function: &Function, block: &'a [Stmt], after: &mut Vec<&'a [Stmt]>, found: &mut HashSet<LocalId>) {
    for (position, stmt) in block.iter().enumerate() {
        let written = stmt.given_local();
        after.push(&block[position + 1..]);
        let is_number = |local: &LocalId| {
            let variable = &function.locals[*local];
            matches!(variable.ty, Type::Float(_)) && variable.storage == Storage::Private
        };
        if let Some(local) = written.filter(is_number) {
            let is_used = |later: &Stmt| !matches!(later.kind, StmtKind::If { .. }) && reads(later, local);
            if !after.iter().copied().flatten().any(is_used) {
                found.insert(local);
            }
        }
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let walk::Part::Block(inner) = part {
                look(function, inner, after, found);
            }
            ControlFlow::<()>::Continue(())
        });
        after.pop();
    }
}

fn reads(stmt: &Stmt, local: LocalId) -> bool {
    walk::block_loads_any(std::slice::from_ref(stmt), &mut |place| place.as_local() == Some(local))
}
