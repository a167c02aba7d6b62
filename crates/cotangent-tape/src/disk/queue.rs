//! The queue between lanes and the threads that work for them, and back: each job is taken once, and after the end all threads
//! know. With the feature `loom` its test goes through the orders of events.

use std::collections::VecDeque;
use std::sync::PoisonError;

#[cfg(feature = "loom")]
use loom::sync::{Condvar, Mutex};
#[cfg(not(feature = "loom"))]
use std::sync::{Condvar, Mutex};

use crate::sanitizer;

/// Jobs in order.
pub(crate) struct Queue<Job> {
    state: Mutex<State<Job>>,
    changed: Condvar,
}

struct State<Job> {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

impl<Job> Queue<Job> {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State { jobs: VecDeque::new(), is_closed: false }), changed: Condvar::new() }
    }

    /// Adds a job and wakes one thread.
    pub(crate) fn push(&self, job: Job) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        sanitizer::received(self);
        state.jobs.push_back(job);
        sanitizer::given(self);
        drop(state);
        self.changed.notify_one();
    }

    /// No more jobs will come; all threads wake.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.changed.notify_all();
    }

    /// The next job, if there is one.
    pub(crate) fn try_next(&self) -> Option<Job> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        sanitizer::received(self);
        let job = state.jobs.pop_front();
        sanitizer::given(self);
        job
    }

    /// The next job, when there is one; `None` when the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<Job> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            sanitizer::received(self);
            if let Some(job) = state.jobs.pop_front() {
                sanitizer::given(self);
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl<Job> Drop for Queue<Job> {
    fn drop(&mut self) {
        // Whoever is the last, the count that tells so is an order that the sanitizer does not see.
        sanitizer::received(self);
    }
}

#[cfg(all(test, feature = "loom"))]
mod orders {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Two threads, two jobs with memory of their own, and the end, in every order with up to two preemptions; all orders
    /// are too many.
    #[test]
    fn every_job_is_done_once_and_every_thread_ends() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(2);
        model.check(|| {
            let queue = Arc::new(Queue::new());
            let done = Arc::new(AtomicUsize::new(0));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (queue, done) = (Arc::clone(&queue), Arc::clone(&done));
                    loom::thread::spawn(move || {
                        while let Some(slab) = queue.next() {
                            let slab: loom::cell::UnsafeCell<usize> = slab;
                            // SAFETY: whoever has taken the job is its only owner; loom checks that.
                            let value = slab.with_mut(|value| unsafe { std::mem::replace(&mut *value, 0) });
                            done.fetch_add(value, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            for value in [1, 10] {
                let slab = loom::cell::UnsafeCell::new(0);
                // SAFETY: not given away yet.
                slab.with_mut(|place| unsafe { *place = value });
                queue.push(slab);
            }
            queue.close();
            for thread in threads {
                thread.join().unwrap();
            }
            assert_eq!(done.load(Ordering::Relaxed), 11);
        });
    }
}
