//! The empty slabs of a tape, shared by its lanes. A lane comes here once a slab, so a lock is cheap enough.

use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::sanitizer;
use crate::slab::Slab;

/// Gives out slabs until the budget is used up, and keeps those that come back.
pub(crate) struct Pool {
    slab_bytes: usize,
    /// How many slabs the budget is.
    limit: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    free: Vec<Slab>,
    /// Slabs that exist, free or not.
    mapped: usize,
    most_mapped: usize,
}

impl Pool {
    pub(crate) fn new(slab_bytes: usize, limit: usize) -> Self {
        Self { slab_bytes, limit, state: Mutex::default() }
    }

    pub(crate) fn slab_bytes(&self) -> usize {
        self.slab_bytes
    }

    /// An empty slab within the budget; `Ok(None)` if it is used up.
    pub(crate) fn take(&self) -> Result<Option<Slab>, Error> {
        self.locked(|state| match state.free.pop() {
            Some(slab) => Ok(Some(slab)),
            None if state.mapped >= self.limit => Ok(None),
            None => self.map(state).map(Some),
        })
    }

    pub(crate) fn give_back(&self, slab: Slab) {
        self.locked(|state| state.free.push(slab));
    }

    /// The most slabs that there ever were at a time.
    pub(crate) fn most_mapped(&self) -> usize {
        self.locked(|state| state.most_mapped)
    }

    fn map(&self, state: &mut State) -> Result<Slab, Error> {
        let slab = Slab::map(self.slab_bytes).ok_or(Error::Memory)?;
        state.mapped += 1;
        state.most_mapped = state.most_mapped.max(state.mapped);
        Ok(slab)
    }

    fn locked<R>(&self, action: impl FnOnce(&mut State) -> R) -> R {
        // Nothing that runs under the lock leaves the state half changed.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        sanitizer::received(self);
        let result = action(&mut state);
        sanitizer::given(self);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_recycled_and_never_more_than_the_budget() {
        let pool = Pool::new(64 << 10, 2);
        let first = pool.take().unwrap().unwrap();
        let address = first.lo();
        let _second = pool.take().unwrap().unwrap();
        assert!(pool.take().unwrap().is_none());
        pool.give_back(first);
        assert_eq!(pool.take().unwrap().unwrap().lo(), address);
        assert_eq!(pool.most_mapped(), 2);
    }
}
