//! Takes stores back: memory that the user names ends as it was before the call.
//!
//! The reverse of a store first gives the element the value it had before, which is kept like any other value that the
//! reverse sweep needs. On the host nothing else of that memory need be kept: when the adjoint of a statement runs, all later
//! stores are taken back.

use std::collections::BTreeSet;

use super::Rules;
use crate::analysis::{Object, stmt_writes};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic};
use crate::ir::walk::{self, own_variable};
use crate::ir::{Expr, LocalId, Place, Stmt, StmtKind};

impl Rules<'_> {
    /// Says which parameters lead to memory that is rolled back.
    pub(in crate::transform::reverse) fn roll_back(&mut self, params: &[LocalId]) {
        for param in params {
            let load = Expr::load(Place::local(*param, self.facts.primal.locals[*param].ty.clone()));
            let reached = self.facts.objects.reachable(&load);
            self.rolled_back.extend(reached);
        }
    }

    /// The places whose stores by a statement are taken back.
    pub(in crate::transform::reverse) fn taken_back(&mut self, stmt: &Stmt) -> Vec<Place> {
        let mut found = Vec::new();
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
            found.push(place.clone());
        }
        found
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

    /// Whether memory of the host is as it was at a statement when the adjoint of the statement runs.
    pub(in crate::transform::reverse) fn is_put_back(&self, place: &Place) -> bool {
        if self.rolled_back.is_empty() || !self.facts.is_host() || own_variable(place).is_some() {
            return false;
        }
        let objects = self.facts.objects.of_place(place);
        self.vars.is_primal_place(place) && !objects.is_empty() && objects.is_subset(&self.rolled_back)
    }

    fn is_rolled_back(&self, objects: &BTreeSet<Object>) -> bool {
        objects.iter().any(|object| object.overlaps_any(&self.rolled_back))
    }
}
