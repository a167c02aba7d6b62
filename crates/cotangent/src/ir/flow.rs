//! Whether control comes to the end of a block.

use super::{ExprKind, Stmt, StmtKind};

/// Whether the end of a block may be reached, as far as its last statement shows.
pub fn can_reach_end(block: &[Stmt]) -> bool {
    let Some(last) = block.last() else { return true };
    match &last.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => false,
        StmtKind::If { then_block, else_block, .. } => can_reach_end(then_block) || can_reach_end(else_block),
        StmtKind::While { cond, body, .. } => cond.kind != ExprKind::Bool(true) || breaks(body),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::For(_)
        | StmtKind::Switch { .. }
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => true,
    }
}

/// Whether a block can leave the loop that it is the body of. A `break` in an inner loop or switch leaves only that.
fn breaks(block: &[Stmt]) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break => true,
        StmtKind::If { then_block, else_block, .. } => breaks(then_block) || breaks(else_block),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    })
}

#[cfg(test)]
mod tests {
    use super::can_reach_end;
    use crate::ir::{Block, Expr, LoopTest, Stmt, StmtKind};

    fn branch(then_block: Block, else_block: Block) -> Stmt {
        Stmt::new(StmtKind::If { cond: Expr::bool(true), then_block, else_block })
    }

    fn repeat(cond: bool, body: Block) -> Stmt {
        Stmt::new(StmtKind::While { cond: Expr::bool(cond), body, test: LoopTest::Before })
    }

    #[test]
    fn the_end_is_reached_unless_every_way_leaves_before() {
        let leave = || vec![Stmt::new(StmtKind::Break)];
        let done = || vec![Stmt::new(StmtKind::Return(None))];
        assert!(can_reach_end(&[]));
        assert!(!can_reach_end(&leave()));
        assert!(can_reach_end(&[branch(done(), vec![])]));
        assert!(!can_reach_end(&[branch(done(), leave())]));
        assert!(can_reach_end(&[repeat(false, vec![])]));
        assert!(!can_reach_end(&[repeat(true, done())]));
        assert!(can_reach_end(&[repeat(true, vec![branch(leave(), vec![])])]));
        assert!(!can_reach_end(&[repeat(true, vec![repeat(true, leave())])]));
    }
}
