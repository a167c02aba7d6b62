//! Which rule a statement has.

use super::{Pair, Rules};
use crate::ir::{Block, Stmt, StmtKind, Unread};

impl Rules<'_> {
    /// The rule of a statement that has no statements inside, and launches no kernel.
    pub(in crate::transform::reverse) fn statement(&mut self, stmt: &Stmt) -> Pair {
        match &stmt.kind {
            StmtKind::Declare { local, init } => self.declare(stmt, *local, init.as_ref()),
            StmtKind::Assign { place, value } => self.assign(stmt, place, value),
            StmtKind::Call { into, function, args } => match self.facts.module.rule(*function) {
                Some(rule) => self.ruled_call(stmt, into.as_ref(), (*function, rule.kind), args),
                None => self.call(stmt, into.as_ref(), *function, args),
            },
            StmtKind::Runtime { call, args, into } => self.runtime(stmt, call, args, into.as_ref()),
            StmtKind::Barrier { kind, argument, .. } => self.barrier(stmt, *kind, argument.as_ref()),
            StmtKind::Atomic { op, place, value, into, .. } => self.atomic(stmt, *op, place, value, into.as_ref()),
            StmtKind::Collective { op, mask, args, into } => {
                self.collective(stmt, *op, mask.as_ref(), args, into.as_ref())
            }
            StmtKind::Opaque { code: Unread::Passed, args, .. } => self.passed(stmt, args),
            StmtKind::Opaque { code: Unread::Call(_), .. } => {
                Pair { forward: vec![stmt.clone()], reverse: Block::new() }
            }
            StmtKind::Launch(_)
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Opaque { code: Unread::Body { .. }, .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => {
                self.contradiction(stmt);
                Pair::default()
            }
        }
    }
}
