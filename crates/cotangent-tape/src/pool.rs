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

    /// How many slabs the budget is.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// An empty slab, if that leaves `rest` more in the budget.
    pub(crate) fn take(&self, rest: usize) -> Result<Option<Slab>, Error> {
        self.locked(|state| {
            if self.left(state) <= rest {
                return Ok(None);
            }
            match state.free.pop() {
                Some(slab) => Ok(Some(slab)),
                None => self.map(state).map(Some),
            }
        })
    }

    /// One more than the budget, for a lane that has none at all. It is not kept when it comes back.
    pub(crate) fn take_beyond_the_budget(&self) -> Result<Slab, Error> {
        self.locked(|state| self.map(state))
    }

    /// Whether less than a quarter of the budget is left.
    pub(crate) fn is_short(&self) -> bool {
        self.locked(|state| self.left(state) <= self.limit / 4)
    }

    pub(crate) fn give_back(&self, slab: Slab) {
        self.locked(|state| {
            if state.mapped > self.limit {
                state.mapped -= 1;
                drop(slab);
            } else {
                state.free.push(slab);
            }
        });
    }

    /// The most slabs that there ever were at a time.
    pub(crate) fn most_mapped(&self) -> usize {
        self.locked(|state| state.most_mapped)
    }

    /// Slabs that can be had within the budget.
    fn left(&self, state: &State) -> usize {
        state.free.len() + self.limit.saturating_sub(state.mapped)
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
        let first = pool.take(0).unwrap().unwrap();
        let address = first.lo();
        let _second = pool.take(0).unwrap().unwrap();
        assert!(pool.take(0).unwrap().is_none());
        pool.give_back(first);
        assert_eq!(pool.take(0).unwrap().unwrap().lo(), address);
        assert_eq!(pool.most_mapped(), 2);
    }
}
