//! Values that no statement reads before another takes their place: `sum = 0` in front of a loop that runs. A variable is
//! not constant on any way because of them.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::slice::from_ref;

use crate::ir::walk::{self, Part};
use crate::ir::{BinaryOp, For, LocalId, Stmt, StmtKind};

/// When something else is stored to a variable before it is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Overwritten {
    Always,
    /// If the loop runs that comes next.
    ByLoops,
}

/// The stores of a block, and of those inside, whose variable is next mentioned where it is assigned.
pub(super) fn overwritten(block: &[Stmt]) -> HashMap<*const Stmt, Overwritten> {
    let mut found = HashMap::new();
    look(block, &mut found);
    found
}

fn look(block: &[Stmt], found: &mut HashMap<*const Stmt, Overwritten>) {
    for (position, stmt) in block.iter().enumerate() {
        let next = |local: LocalId| block[position + 1..].iter().find(|later| walk::mentions(from_ref(*later), local));
        if let Some(local) = stmt.given_local()
            && let Some(when) = next(local).and_then(|next| assigns(next, local))
        {
            found.insert(std::ptr::from_ref(stmt), when);
        }
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Block(inner) = part {
                look(inner, found);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// When a statement assigns a variable, in no branch.
fn assigns(stmt: &Stmt, local: LocalId) -> Option<Overwritten> {
    let inside = |body: &[Stmt]| body.iter().find_map(|inner| assigns(inner, local));
    match &stmt.kind {
        StmtKind::For(head) if runs(head) => inside(&head.body),
        StmtKind::For(head) => inside(&head.body).map(|_| Overwritten::ByLoops),
        StmtKind::While { body, .. } => inside(body).map(|_| Overwritten::ByLoops),
        StmtKind::Assign { place, .. } => (place.as_local() == Some(local)).then_some(Overwritten::Always),
        StmtKind::Declare { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
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
        | StmtKind::Opaque { .. } => None,
    }
}

/// Whether a loop surely runs: it counts from a number to a number.
fn runs(head: &For) -> bool {
    let (Some(from), Some(to)) = (head.from.as_int(), head.to.as_int()) else { return false };
    head.test != BinaryOp::Equal && head.test.holds(from, to) == Some(true)
}
