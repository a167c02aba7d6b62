//! The empty slabs of a tape, shared by its lanes. A lane comes here once a slab, so a lock is cheap enough.

use std::sync::PoisonError;

#[cfg(feature = "loom")]
use loom::sync::Mutex;
#[cfg(not(feature = "loom"))]
use std::sync::Mutex;

use crate::error::Error;
use crate::sanitizer;
use crate::slab::Slab;

/// Gives out slabs until the budget is used up, and keeps those that come back.
pub(crate) struct Pool {
    slab_bytes: usize,
    /// How many slabs the budget is.
    limit: usize,
    state: Mutex<State>,
    /// A forked child has a copy of the lock, which perhaps nobody will ever open: it goes to the system instead.
    process: u32,
}

#[derive(Default)]
struct State {
    free: Vec<Slab>,
    /// Slabs that exist, free or not.
    mapped: usize,
    most_mapped: usize,
    /// Slabs that lanes work in and cannot give away, now or later.
    seats: usize,
}

impl Pool {
    pub(crate) fn new(slab_bytes: usize, limit: usize) -> Self {
        Self { slab_bytes, limit, state: Mutex::new(State::default()), process: std::process::id() }
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
        .unwrap_or_else(|| self.map_uncounted().map(Some))
    }

    /// Sets one slab of the budget aside for a lane to work in. While every lane works in no more slabs than it has seats, one that
    /// needs a slab finds it: free, or full and in another lane.
    pub(crate) fn sit(&self) -> Result<(), Error> {
        self.locked(|state| {
            if state.seats >= self.limit {
                return Err(Error::Budget);
            }
            state.seats += 1;
            Ok(())
        })
        .unwrap_or(Ok(()))
    }

    /// Gives so many seats back.
    pub(crate) fn stand(&self, seats: usize) {
        self.locked(|state| state.seats -= seats);
    }

    /// Whether less than a quarter of the budget is left.
    pub(crate) fn is_short(&self) -> bool {
        self.locked(|state| self.left(state) <= self.limit / 4).unwrap_or(false)
    }

    pub(crate) fn give_back(&self, slab: Slab) {
        // In a forked child nobody takes it, and its memory goes back to the system.
        let mut slab = Some(slab);
        self.locked(|state| state.free.extend(slab.take()));
    }

    /// Gives slabs that no lane uses to the system.
    pub(crate) fn give_to_system(&self) {
        self.locked(|state| {
            state.mapped -= state.free.len();
            state.free.clear();
        });
    }

    /// The most slabs that there ever were at a time; zero in a forked child, which does not know.
    pub(crate) fn most_mapped(&self) -> usize {
        self.locked(|state| state.most_mapped).unwrap_or(0)
    }

    /// Slabs that can be had within the budget.
    fn left(&self, state: &State) -> usize {
        state.free.len() + self.limit.saturating_sub(state.mapped)
    }

    fn map(&self, state: &mut State) -> Result<Slab, Error> {
        let slab = self.map_uncounted()?;
        state.mapped += 1;
        state.most_mapped = state.most_mapped.max(state.mapped);
        Ok(slab)
    }

    fn map_uncounted(&self) -> Result<Slab, Error> {
        Slab::map(self.slab_bytes).ok_or(Error::Memory)
    }

    /// Runs `action` under the lock; not in a forked child.
    fn locked<R>(&self, action: impl FnOnce(&mut State) -> R) -> Option<R> {
        if self.process != std::process::id() {
            return None;
        }
        // Nothing that runs under the lock leaves the state half changed.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        sanitizer::received(self);
        let result = action(&mut state);
        sanitizer::given(self);
        Some(result)
    }
}

#[cfg(all(test, not(feature = "loom")))]
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
        let again = pool.take(0).unwrap().unwrap();
        assert_eq!(again.lo(), address);
        assert_eq!(pool.most_mapped(), 2);
        pool.give_back(again);
        pool.give_to_system();
        assert!(pool.take(0).unwrap().is_some() && pool.take(0).unwrap().is_none());
    }

    #[test]
    fn there_is_a_seat_for_each_slab_of_the_budget() {
        let pool = Pool::new(64 << 10, 2);
        assert_eq!([pool.sit(), pool.sit(), pool.sit()], [Ok(()), Ok(()), Err(Error::Budget)]);
        pool.stand(1);
        assert_eq!(pool.sit(), Ok(()));
    }
}

#[cfg(all(test, feature = "loom"))]
mod orders {
    use loom::sync::Arc;

    use super::*;

    /// Two threads want the only seat and its slab, in every order.
    #[test]
    fn slabs_have_one_owner_and_the_budget_holds() {
        loom::model(|| {
            let pool = Arc::new(Pool::new(64 << 10, 1));
            let work = |pool: Arc<Pool>| {
                if pool.sit().is_err() {
                    return;
                }
                // Whoever has the seat finds the slab.
                let slab = pool.take(0).unwrap().unwrap();
                pool.give_back(slab);
                pool.stand(1);
            };
            let other = loom::thread::spawn({
                let pool = Arc::clone(&pool);
                move || work(pool)
            });
            work(Arc::clone(&pool));
            other.join().unwrap();
            assert_eq!(pool.most_mapped(), 1);
            let state = pool.state.lock().unwrap();
            assert_eq!((state.mapped, state.free.len(), state.seats), (1, 1, 0));
        });
    }
}
