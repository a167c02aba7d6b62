//! Whether a value is still there when the reverse sweep reads it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::Values;
use crate::analysis::Object;
use crate::ir::walk::{self, Node};
use crate::ir::{Expr, ExprKind, LocalId, Place};

impl Values<'_> {
    /// Whether an expression may have another value in the reverse sweep.
    pub(in crate::transform::reverse) fn changes(&self, expr: &Expr, changed: &BTreeSet<Object>) -> bool {
        walk::visit_expr(expr, &mut |node| match node {
            Node::Expr(Expr { kind: ExprKind::Load(place), .. }) if self.must_keep(place, changed) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })
        .is_break()
    }

    /// Whether the value of a place at this statement is gone when the reverse sweep reads it.
    pub(in crate::transform::reverse) fn must_keep(&self, place: &Place, changed: &BTreeSet<Object>) -> bool {
        let Some(objects) = self.vars.primal_objects(place) else { return false };
        objects.iter().any(|object| match object.as_local() {
            Some(local) => {
                changed.contains(object) || (!self.vars.is_register(local) && self.frames.is_unstable_memory(object))
            }
            None if self.vars.facts.is_host() => {
                changed.iter().any(|other| other.overlaps(object)) || self.frames.is_unstable_memory(object)
            }
            None => self.vars.facts.is_volatile(object),
        })
    }

    /// Whether a pointer may point to a variable of an iteration, which is another one in the reverse sweep.
    pub(in crate::transform::reverse) fn points_inside(&self, local: LocalId) -> bool {
        let followed = self.vars.followed(local);
        if !self.vars.is_primal(followed) {
            return false;
        }
        let load = Expr::load(Place::local(followed, self.vars.facts.primal.locals[followed].ty.clone()));
        let reached = self.vars.facts.objects.reachable(&load);
        reached.iter().filter_map(|object| object.as_local()).any(|target| self.frames.is_of_iteration(target))
    }
}
