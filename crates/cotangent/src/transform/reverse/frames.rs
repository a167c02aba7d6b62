//! Stretches of code whose values are there when their reverse sweep runs.

use std::collections::{BTreeSet, HashSet};

use crate::analysis::Object;
use crate::ir::{For, LocalId};

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
    /// What is known about a loop on entry to the outermost one.
    pub(super) known: Option<Known>,
}

/// A loop that runs equally often each time.
#[derive(Clone)]
pub(super) struct Known {
    /// Its header.
    pub(super) head: For,
    /// What it or a later statement of its frame writes.
    pub(super) changed: BTreeSet<Object>,
}

/// The frames around a statement, the innermost last.
#[derive(Clone)]
pub(super) struct Frames {
    around: Vec<Frame>,
    /// Arrays of an iteration's own that its reverse sweep can neither fill again nor be given: what is read of them is
    /// kept value by value.
    fleeting: BTreeSet<LocalId>,
    /// How many conditions there are around the statement.
    branches: usize,
    /// Whether the reverse sweep is a function of its own, which alone has adjoints.
    is_apart: bool,
}

impl Frames {
    /// The function as a whole.
    pub(super) fn new(outermost: Frame, fleeting: BTreeSet<LocalId>) -> Frames {
        Frames { around: vec![outermost], fleeting, branches: 0, is_apart: false }
    }

    /// The function as a whole, whose sweeps are two functions.
    pub(super) fn begin_apart(&mut self, outermost: Frame) {
        self.around = vec![outermost];
        self.is_apart = true;
    }

    /// Whether the forward sweep has no adjoints.
    pub(super) fn is_apart(&self) -> bool {
        self.is_apart
    }

    /// The same where all is computed from the beginning, before anything has changed.
    pub(super) fn before_all(&self) -> Frames {
        Frames { fleeting: BTreeSet::new(), ..self.clone() }
    }

    pub(super) fn enter(&mut self, frame: Frame) {
        self.around.push(frame);
    }

    pub(super) fn leave(&mut self) {
        self.around.pop();
    }

    pub(super) fn enter_branch(&mut self) {
        self.branches += 1;
    }

    pub(super) fn leave_branch(&mut self) {
        self.branches -= 1;
    }

    /// Whether a statement, or a loop around it, runs under a condition.
    pub(super) fn is_in_branch(&self) -> bool {
        self.branches > 0
    }

    pub(super) fn outermost_loop(&self) -> Option<&Frame> {
        self.around.iter().find(|frame| frame.is_loop)
    }

    pub(super) fn outermost_first(&self) -> &[Frame] {
        &self.around
    }

    pub(super) fn innermost(&self) -> Option<&Frame> {
        self.around.last()
    }

    /// Whether a variable lives in an iteration of some loop around.
    pub(super) fn is_of_iteration(&self, local: LocalId) -> bool {
        self.around.iter().any(|frame| frame.is_loop && frame.declared.contains(&local))
    }

    /// Whether a statement stands in a loop.
    pub(super) fn is_in_loop(&self) -> bool {
        self.around.iter().any(|frame| frame.is_loop)
    }

    /// Whether memory of the thread's own changes between this iteration and its reverse.
    pub(super) fn is_unstable_memory(&self, object: &Object) -> bool {
        if object.as_local().is_some_and(|local| self.fleeting.contains(&local)) {
            return true;
        }
        for frame in self.around.iter().rev() {
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
