//! Whether a value is still there when the reverse sweep reads it.

use std::collections::BTreeSet;

use super::super::decision::How;
use super::Values;
use crate::analysis::Object;
use crate::ir::walk;
use crate::ir::{Expr, LocalId, Place};
use crate::transform::{Fact, Trust};

/// Whether a value is there later, by which theorem.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::transform::reverse) enum Standing {
    There(How),
    Gone(How),
}

impl Values<'_> {
    /// Whether an expression may have another value in the reverse sweep.
    pub(in crate::transform::reverse) fn changes(&self, expr: &Expr, changed: &BTreeSet<Object>) -> bool {
        self.change_of(expr, changed).is_some()
    }

    /// Why an expression may have another value in the reverse sweep; none if it has not.
    pub(in crate::transform::reverse) fn change_of(&self, expr: &Expr, changed: &BTreeSet<Object>) -> Option<How> {
        let mut found = None;
        walk::loads_any(expr, &mut |place| {
            if let Some(Standing::Gone(how)) = self.standing(place, changed) {
                found = Some(how);
            }
            found.is_some()
        });
        found
    }

    /// Whether the value of a place at this statement is there when the reverse sweep reads it, and why; none for adjoints.
    pub(in crate::transform::reverse) fn standing(
        &self,
        place: &Place,
        changed: &BTreeSet<Object>,
    ) -> Option<Standing> {
        let objects = self.vars.primal_objects(place)?;
        match self.vars.facts.trust {
            Trust { doubted: Some(Fact::Standing), .. } => return Some(Standing::Gone(How::VariableChanges)),
            Trust { denied: Some(Fact::Standing), .. } => return Some(Standing::There(How::UnchangedVariable)),
            Trust { .. } => {}
        }
        let mut still = How::UnchangedVariable;
        for object in &objects {
            match self.object_standing(object, changed) {
                Standing::There(how) => still = how,
                gone @ Standing::Gone(_) => return Some(gone),
            }
        }
        Some(Standing::There(still))
    }

    fn object_standing(&self, object: &Object, changed: &BTreeSet<Object>) -> Standing {
        let told = |is_gone: bool, gone: How, there: How| {
            if is_gone { Standing::Gone(gone) } else { Standing::There(there) }
        };
        match object.as_local() {
            Some(local) if self.vars.is_register(local) => {
                told(changed.contains(object), How::VariableChanges, How::UnchangedVariable)
            }
            Some(_) => {
                let is_gone = changed.contains(object) || self.frames.is_unstable_memory(object);
                told(is_gone, How::MemoryChanges, How::UnchangedMemory)
            }
            None if self.vars.facts.is_host() => {
                let is_written = object.overlaps_any(changed);
                let is_gone = is_written || self.frames.is_unstable_memory(object);
                told(is_gone, How::MemoryChanges, How::UnchangedMemory)
            }
            None => told(self.vars.facts.is_volatile(object), How::OthersMayWrite, How::UnwrittenMemory),
        }
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
