//! How the reverse launch of a kernel gets arrays that change until then: copied as a whole if their size is known, else what
//! the kernel reads of them is recorded by the kernel itself.

use std::collections::BTreeSet;

use super::super::decision::How;
use super::super::rules::launch::Copied;
use super::Values;
use crate::analysis::{Base, Object};
use crate::ir::{GlobalId, Launch};

/// What is kept for the reverse launch, by positions of arguments.
#[derive(Default)]
pub(in crate::transform::reverse) struct KeptForLaunch {
    pub(in crate::transform::reverse) copied: Copied,
    pub(in crate::transform::reverse) recorded: Vec<usize>,
}

impl KeptForLaunch {
    /// Each with what was decided.
    pub(in crate::transform::reverse) fn decisions(&self) -> impl Iterator<Item = (usize, How)> {
        let copied = self.copied.iter().map(|(position, _)| (*position, How::CopiedWhole));
        copied.chain(self.recorded.iter().map(|position| (*position, How::RecordedByKernel)))
    }
}

impl Values<'_> {
    /// What is kept of the arguments that the kernel's reverse sweep needs. `later` are the objects that later statements
    /// write.
    pub(in crate::transform::reverse) fn kept_for_launch(
        &self,
        launch: &Launch,
        needed: &[usize],
        later: &BTreeSet<Object>,
    ) -> KeptForLaunch {
        let mut kept = KeptForLaunch::default();
        for position in needed {
            let arg = &launch.args[*position];
            let changes = self
                .vars
                .facts
                .objects
                .reachable(arg)
                .iter()
                .any(|object| object.overlaps_any(later) || self.frames.is_unstable_memory(object));
            if !changes {
                continue;
            }
            match self.vars.facts.known_bytes(arg, self.frames) {
                Some(bytes) => kept.copied.push((*position, bytes)),
                None => kept.recorded.push(*position),
            }
        }
        kept
    }

    /// Of the variables outside functions that a kernel's reverse sweep mentions, those that change until then.
    pub(in crate::transform::reverse) fn changed_variables(
        &self,
        mentioned: &BTreeSet<GlobalId>,
        later: &BTreeSet<Object>,
    ) -> Vec<Object> {
        let changed = later.iter().chain(self.frames.outermost_first().iter().flat_map(|frame| &frame.unstable));
        let mut found = BTreeSet::new();
        for object in changed {
            match object.base {
                Base::Global(global) if mentioned.contains(&global) => drop(found.insert(object.clone())),
                Base::Unknown => {
                    let base = |global: &GlobalId| Object { base: Base::Global(*global), path: Vec::new() };
                    found.extend(mentioned.iter().map(base));
                }
                Base::Global(_) | Base::Local(_) | Base::Unread => {}
            }
        }
        found.into_iter().collect()
    }
}
