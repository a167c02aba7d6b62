//! Stretches of code whose values are there when their reverse sweep runs.

use std::collections::{BTreeSet, HashSet};

use crate::analysis::Object;
use crate::ir::LocalId;

/// A stretch of code whose values are there when its reverse sweep runs: the function, or one iteration of a loop.
#[derive(Clone, Default)]
pub(super) struct Frame {
    /// Whether it is an iteration.
    pub(super) is_loop: bool,
    /// Variables that live inside.
    pub(super) declared: HashSet<LocalId>,
    /// Objects from outside that do not keep their values until the reverse sweep.
    pub(super) unstable: BTreeSet<Object>,
    /// Shared arrays that the reverse sweep fills again before anything else.
    pub(super) reloaded: BTreeSet<LocalId>,
}

/// The frames around a statement, the innermost last.
#[derive(Clone)]
pub(super) struct Frames(Vec<Frame>);

impl Frames {
    /// The function as a whole.
    pub(super) fn new(outermost: Frame) -> Frames {
        Frames(vec![outermost])
    }

    pub(super) fn enter(&mut self, frame: Frame) {
        self.0.push(frame);
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    pub(super) fn outermost_first(&self) -> &[Frame] {
        &self.0
    }

    pub(super) fn innermost(&self) -> Option<&Frame> {
        self.0.last()
    }

    /// Whether a variable lives in an iteration of some loop around.
    pub(super) fn is_of_iteration(&self, local: LocalId) -> bool {
        self.0.iter().any(|frame| frame.is_loop && frame.declared.contains(&local))
    }

    /// Whether a statement stands in a loop.
    pub(super) fn is_in_loop(&self) -> bool {
        self.0.iter().any(|frame| frame.is_loop)
    }

    /// Whether memory of the thread's own changes between this iteration and its reverse.
    pub(super) fn is_unstable_memory(&self, object: &Object) -> bool {
        for frame in self.0.iter().rev() {
            if object.as_local().is_some_and(|local| frame.declared.contains(&local)) {
                return false;
            }
            if object.as_local().is_some_and(|local| frame.reloaded.contains(&local)) {
                return false;
            }
            if frame.unstable.contains(object) {
                return true;
            }
        }
        false
    }
}
