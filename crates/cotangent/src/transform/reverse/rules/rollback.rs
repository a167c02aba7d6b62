//! Takes stores back: memory that the user names ends as it was before the call.
//!
//! The reverse of a store first gives the element the value it had before, which is kept like any other value that the
//! reverse sweep needs.

use std::collections::BTreeSet;

use super::Rules;
use crate::analysis::{Object, stmt_writes};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic};
use crate::ir::walk::{self, own_variable};
use crate::ir::{Block, Expr, LocalId, Place, Stmt, StmtKind};
use crate::transform::locals::assign;

impl Rules<'_> {
    /// Says which parameters lead to memory that is rolled back.
    pub(in crate::transform::reverse) fn roll_back(&mut self, params: &[LocalId]) {
        for param in params {
            let load = Expr::load(Place::local(*param, self.facts.primal.locals[*param].ty.clone()));
            let reached = self.facts.objects.reachable(&load);
            self.rolled_back.extend(reached);
        }
    }

    /// Puts before the adjoint of a statement what takes its stores back.
    pub(in crate::transform::reverse) fn take_back(&mut self, stmt: &Stmt, reverse: &mut Block) {
        self.check_hidden_stores(stmt);
        for place in walk::written_places(stmt) {
            if own_variable(place).is_some() {
                continue;
            }
            let objects = self.facts.objects.of_place(place);
            if !self.is_rolled_back(&objects) {
                continue;
            }
            let is_plain = matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Call { .. });
            if !objects.is_subset(&self.rolled_back) || !is_plain {
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

    /// What a launch, a copy or a function with a rule stores is nowhere in the text of this function.
    fn check_hidden_stores(&mut self, stmt: &Stmt) {
        let mut hidden = stmt_writes(self.facts.objects, stmt);
        for place in walk::written_places(stmt) {
            hidden = &hidden - &self.facts.objects.of_place(place);
        }
        if self.is_rolled_back(&hidden) {
            let message = "what this stores cannot be taken back";
            let label = "it stores to memory that is rolled back";
            self.report(
                Diagnostic::new(CANNOT_RECORD, stmt.span, message, label)
                    .help("leave the array out of `--rollback`, and copy it before the call"),
            );
        }
    }

    fn is_rolled_back(&self, objects: &BTreeSet<Object>) -> bool {
        objects.iter().any(|object| self.rolled_back.iter().any(|named| named.overlaps(object)))
    }
}
