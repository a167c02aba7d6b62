//! Takes stores back: memory that the user names ends as it was before the call.
//!
//! The reverse of a store first gives the element the value it had before, which is kept like any other value that the
//! reverse sweep needs.

use super::super::locals::assign;
use super::function::Ctx;
use crate::diagnostic::{CANNOT_RECORD, Diagnostic};
use crate::ir::walk::{self, own_variable};
use crate::ir::{Block, Expr, LocalId, Place, Stmt, StmtKind};

impl Ctx<'_> {
    /// Says which parameters lead to memory that is rolled back.
    pub(super) fn roll_back(&mut self, params: &[LocalId]) {
        for param in params {
            let load = Expr::load(Place::local(*param, self.primal.locals[*param].ty.clone()));
            let reached = self.objects.reachable(&load);
            self.rolled_back.extend(reached);
        }
    }

    /// Puts before the adjoint of a statement what takes its stores back.
    pub(super) fn take_back(&mut self, stmt: &Stmt, reverse: &mut Block) {
        for place in walk::written_places(stmt) {
            if own_variable(place).is_some() {
                continue;
            }
            let objects = self.objects.of_place(place);
            let named = objects.iter().filter(|object| self.rolled_back.contains(object)).count();
            if named == 0 {
                continue;
            }
            let is_plain = matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Call { .. });
            if named < objects.len() || !is_plain {
                let message = "this store cannot be taken back";
                let label =
                    if is_plain { "it may be to memory that is not rolled back" } else { "other threads see it" };
                self.report(
                    Diagnostic::new(CANNOT_RECORD, stmt.span, message, label)
                        .help("leave the array out of `--rollback`, or name all that it may be"),
                );
                continue;
            }
            reverse.insert(0, assign(place.clone(), Expr::load(place.clone())).at(stmt.span));
        }
    }
}
