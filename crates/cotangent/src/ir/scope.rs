//! The names of local variables that are visible at one point of a function.
//!
//! The parser, the validator and the builder all go through a function block by block and need to know which local
//! a name means there. Leaving a block undoes the declarations made in it, so a declaration costs the same however
//! many names are visible.

use std::collections::HashMap;

use super::{LocalId, Name};

/// Which local each visible name means.
#[derive(Default)]
pub(super) struct Visible {
    locals: HashMap<Name, LocalId>,
    /// What each declaration hid, the latest last.
    hidden: Vec<(Name, Option<LocalId>)>,
}

/// Where a block began; made by `enter`, given back to `leave`.
pub(super) struct BlockStart(usize);

impl Visible {
    /// Begins a block.
    pub(super) fn enter(&self) -> BlockStart {
        BlockStart(self.hidden.len())
    }

    /// Ends a block: what was declared in it is no longer visible.
    pub(super) fn leave(&mut self, start: BlockStart) {
        for (name, before) in self.hidden.drain(start.0..).rev() {
            match before {
                Some(local) => self.locals.insert(name, local),
                None => self.locals.remove(&name),
            };
        }
    }

    /// Makes a local visible under its name. Returns the local that the name meant before.
    pub(super) fn declare(&mut self, name: Name, local: LocalId) -> Option<LocalId> {
        let before = self.locals.insert(name.clone(), local);
        self.hidden.push((name, before));
        before
    }

    /// The local that a name means.
    pub(super) fn get(&self, name: &str) -> Option<LocalId> {
        self.locals.get(name).copied()
    }
}
