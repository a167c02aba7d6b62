//! Rules: what each statement becomes in the forward sweep and in the reverse sweep.
//!
//! A rule mentions values of the primal as they are at its statement, and does not ask how the reverse sweep gets them: that
//! is planned ([plan](super::plan)) and carried out ([assembly](super::assembly)).

pub(super) mod aggregates;
mod assign;
mod atomic;
mod calls;
pub(super) mod expr;
pub(super) mod launch;
pub(super) mod params;
mod passed;
mod rollback;
mod ruled;
mod runtime;
mod shadows;
mod shared;
mod statement;
mod warp;
use std::collections::BTreeSet;

use super::decision::{Decision, How};
use super::derivatives::Derivatives;
use super::facts::Facts;
use super::frames::Frames;
use super::variables::Variables;
use crate::analysis::{Base, Object, Step};
use crate::diagnostic::{Diagnostic, INTERNAL};
use crate::ir::{Block, LocalId, Place, Stmt};
use crate::source::Span;

/// What a statement or block becomes: a part of the forward sweep and a part of the reverse sweep.
#[derive(Default)]
pub(in crate::transform::reverse) struct Pair {
    pub(in crate::transform::reverse) forward: Block,
    pub(in crate::transform::reverse) reverse: Block,
}

/// What rules are made with.
pub(in crate::transform::reverse) struct Rules<'a> {
    pub(in crate::transform::reverse) facts: &'a Facts<'a>,
    pub(in crate::transform::reverse) vars: Variables<'a>,
    /// Who else adds to the adjoints of parameters.
    pub(in crate::transform::reverse) threads: Threads,
    /// Where in the text the statement stands.
    pub(in crate::transform::reverse) frames: Frames,
    pub(in crate::transform::reverse) derivatives: &'a mut dyn Derivatives,
    pub(in crate::transform::reverse) refused: Refused,
    /// What was decided so far.
    pub(in crate::transform::reverse) decisions: Vec<Decision>,
    /// Memory to which the reverse sweep takes every store back.
    pub(in crate::transform::reverse) rolled_back: BTreeSet<Object>,
}

/// Why no derivative is written.
#[derive(Default)]
pub(in crate::transform::reverse) struct Refused {
    pub(in crate::transform::reverse) diagnostics: Vec<Diagnostic>,
    /// Memory for whose sake it was refused: a derivative that keeps what is read of it may be possible.
    pub(in crate::transform::reverse) unfilled: BTreeSet<LocalId>,
    /// Pointers for whose sake it was refused: with offsets in their place a derivative may be possible.
    pub(in crate::transform::reverse) moving: BTreeSet<LocalId>,
}

/// What others do to the adjoints that a function adds to.
#[derive(Default)]
pub(in crate::transform::reverse) struct Threads {
    /// Parameters by value whose adjoints other threads add to as well.
    pub(in crate::transform::reverse) shared_values: BTreeSet<LocalId>,
    /// Parameters whose adjoints, or what lies behind them, may be the thread's own memory or memory of all threads.
    pub(in crate::transform::reverse) anywhere: BTreeSet<LocalId>,
    /// Pointers of a pullback to adjoints of the calling thread's own.
    pub(in crate::transform::reverse) of_caller: BTreeSet<LocalId>,
    /// Arrays whose adjoints several streams may add to at the same time.
    pub(in crate::transform::reverse) contended: BTreeSet<Object>,
}

impl Rules<'_> {
    /// Writes a decision down.
    pub(in crate::transform::reverse) fn decide(&mut self, at: Span, what: impl Into<String>, how: How) {
        self.decisions.push(Decision { at, what: what.into(), how });
    }

    pub(in crate::transform::reverse) fn report(&mut self, diagnostic: Diagnostic) {
        if !self.refused.diagnostics.contains(&diagnostic) {
            self.refused.diagnostics.push(diagnostic);
        }
    }

    /// A statement that the normal form does not have: a mistake of ours, and no reason for an adjoint of nothing.
    pub(in crate::transform::reverse) fn contradiction(&mut self, stmt: &Stmt) {
        let message = "reverse mode met a statement that its normal form does not have";
        let help = "this is a bug in Cotangent; please report it with the program that shows it";
        self.report(Diagnostic::new(INTERNAL, stmt.span, message, "this statement").help(help));
    }

    /// Whether a place lies in the thread's own memory, whatever pointer leads there.
    pub(in crate::transform::reverse) fn is_private_place(&self, place: &Place) -> bool {
        self.facts.objects.of_place(place).iter().all(|object| self.is_private(object))
    }

    /// Whether an object is the thread's own, and its adjoint too.
    pub(in crate::transform::reverse) fn is_private(&self, object: &Object) -> bool {
        match object.base {
            _ if self.facts.is_host() => true,
            Base::Local(local) => {
                object.path.is_empty() && !self.threads.shared_values.contains(&local) && !self.vars.is_shared(local)
            }
            Base::Global(_) | Base::Unread | Base::Unknown => false,
        }
    }

    /// Whether an object is what a pointer leads to that the calling thread has made to its own memory.
    pub(in crate::transform::reverse) fn is_of_caller(&self, object: &Object) -> bool {
        object.path == [Step::Deref]
            && matches!(object.base, Base::Local(local) if self.threads.of_caller.contains(&local))
    }

    pub(in crate::transform::reverse) fn is_contended(&self, objects: &BTreeSet<Object>) -> bool {
        objects.iter().any(|object| self.threads.contended.contains(object))
    }
}
