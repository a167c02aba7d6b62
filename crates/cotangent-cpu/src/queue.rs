//! Work that streams do later: launches, copies, fills, events and functions of the host's.
//!
//! A run with late streams (`Config::late`) puts everything that the host need not wait for into this queue. It is done as
//! late as CUDA allows: when the host waits for it, or for something behind it. So a program that forgets to wait sees old
//! data here always, and on a GPU now and then.
//!
//! What comes before what is fixed when work is submitted: the work before it in its stream, the event that the stream was
//! told to wait for, and between the default stream and all that are not made as non-blocking, both ways.
//!
//! Without late streams, and in checked runs, work is done when it is submitted: the checker is told what happens in the
//! order of the program's calls, and finds what is not waited for by its own clocks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::check::{DEFAULT_STREAM, StreamId};
use crate::error::{self, CudaError};
use crate::runtime::runtime;
use crate::waits;

/// A piece of work that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket(u64);

/// Where the result of work can be seen. When the process ends, the host's memory is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    OnDevice,
    OnHost,
}

/// How much may wait. A GPU does not let the host run further ahead either.
const MOST_ENTRIES: usize = 1 << 16;

type Work = Box<dyn FnOnce() -> Result<(), CudaError> + Send>;

/// Work with what must be done before it.
struct Entry {
    after: Vec<Ticket>,
    seen: Seen,
    work: Work,
}

/// What has been submitted and not been done.
#[derive(Default)]
struct Queue {
    submitted: u64,
    entries: BTreeMap<Ticket, Entry>,
    /// The last work of each stream.
    last: HashMap<StreamId, Ticket>,
    non_blocking: HashSet<StreamId>,
}

impl Queue {
    fn submit(&mut self, stream: StreamId, event: Option<Ticket>, seen: Seen, work: Work) -> Ticket {
        let after = self.before_next(stream).into_iter().chain(event.filter(|event| self.entries.contains_key(event)));
        let after = after.collect();
        self.submitted += 1;
        let ticket = Ticket(self.submitted);
        self.entries.insert(ticket, Entry { after, seen, work });
        self.last.insert(stream, ticket);
        ticket
    }

    fn oldest_if_full(&self) -> Option<Ticket> {
        self.entries.keys().next().copied().filter(|_| self.entries.len() >= MOST_ENTRIES)
    }

    /// What the next work of a stream is after.
    fn before_next(&self, stream: StreamId) -> Vec<Ticket> {
        let is_before = |other: StreamId| {
            let blocking = !self.non_blocking.contains(&stream) && !self.non_blocking.contains(&other);
            other == stream || (blocking && (stream == DEFAULT_STREAM || other == DEFAULT_STREAM))
        };
        let last = self.last.iter().filter(|(other, _)| is_before(**other)).map(|(_, ticket)| *ticket);
        last.filter(|ticket| self.entries.contains_key(ticket)).collect()
    }

    /// What the host waits for when it waits for a stream.
    fn before_host(&self, stream: StreamId) -> Vec<Ticket> {
        match stream {
            DEFAULT_STREAM => self.before_next(stream),
            _ => self.last.get(&stream).copied().into_iter().collect(),
        }
    }

    /// Some work and all that must be done before it, in the order in which it was submitted.
    fn due(&self, mut wanted: Vec<Ticket>) -> BTreeSet<Ticket> {
        let mut due = BTreeSet::new();
        while let Some(ticket) = wanted.pop() {
            if let Some(entry) = self.entries.get(&ticket).filter(|_| due.insert(ticket)) {
                wanted.extend(&entry.after);
            }
        }
        due
    }

    /// Takes work out, to be done now.
    fn take(&mut self, ticket: Ticket) -> Option<Entry> {
        let entry = self.entries.remove(&ticket);
        if self.entries.is_empty() {
            self.last.clear();
        }
        entry
    }
}

static QUEUE: Mutex<Option<Queue>> = Mutex::new(None);

/// Held while work is done, so that whoever waits for it waits until its end.
static AT_WORK: Mutex<()> = Mutex::new(());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(body: impl FnOnce(&mut Queue) -> T) -> T {
    body(locked(&QUEUE).get_or_insert_default())
}

/// Whether work waits until it is wanted.
pub(crate) fn is_late() -> bool {
    let config = &runtime().config;
    config.late && !config.check
}

/// Does some work when it is wanted, or at once. An error of late work is one of the call that waits for it.
pub(crate) fn submit(
    stream: StreamId,
    seen: Seen,
    work: impl FnOnce() -> Result<(), CudaError> + Send + 'static,
) -> Result<Ticket, CudaError> {
    if is_late() {
        if let Some(oldest) = with(|queue| queue.oldest_if_full()) {
            wait_for(oldest)?;
        }
        return Ok(with(|queue| queue.submit(stream, None, seen, Box::new(work))));
    }
    work().map(|()| Ticket(0))
}

/// What comes next in a stream is behind the work of an event.
pub(crate) fn stream_waits(stream: StreamId, event: Ticket) {
    if is_late() {
        with(|queue| queue.submit(stream, Some(event), Seen::OnDevice, Box::new(|| Ok(()))));
    }
}

/// A stream was made that has no order with the default stream.
pub(crate) fn non_blocking_stream_created(stream: StreamId) {
    with(|queue| queue.non_blocking.insert(stream));
}

/// The host waits for some work.
pub(crate) fn wait_for(ticket: Ticket) -> Result<(), CudaError> {
    waits::count_stream();
    wait(|_| vec![ticket])
}

/// The host waits for a stream.
pub(crate) fn wait_for_stream(stream: StreamId) -> Result<(), CudaError> {
    waits::count_stream();
    wait(|queue| queue.before_host(stream))
}

/// The host waits for all that the next work of a stream is after.
pub(crate) fn wait_for_next(stream: StreamId) -> Result<(), CudaError> {
    wait(|queue| queue.before_next(stream))
}

/// The host waits for the device.
pub(crate) fn wait_for_all() -> Result<(), CudaError> {
    waits::count_device();
    wait(|queue| queue.entries.keys().copied().collect())
}

/// The process ends: does what is left, for what it prints and how it fails, but does not touch the host's memory.
pub(crate) fn finish() {
    if error::sticky() == CudaError::SUCCESS {
        with(|queue| queue.entries.retain(|_, entry| entry.seen == Seen::OnDevice));
        // Work that fails has said so. The program has not waited for it.
        let _ = wait(|queue| queue.entries.keys().copied().collect());
    }
}

fn wait(wanted: impl FnOnce(&Queue) -> Vec<Ticket>) -> Result<(), CudaError> {
    if !is_late() {
        return Ok(());
    }
    let _at_work = locked(&AT_WORK);
    // Another thread may have waited for it too, and met an error.
    error::sticky().result()?;
    let due = with(|queue| queue.due(wanted(queue)));
    due.into_iter().try_for_each(|ticket| match with(|queue| queue.take(ticket)) {
        Some(entry) => (entry.work)(),
        None => Ok(()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: StreamId = 17;
    const RIGHT: StreamId = 18;

    fn submit(queue: &mut Queue, stream: StreamId) -> Ticket {
        queue.submit(stream, None, Seen::OnDevice, Box::new(|| Ok(())))
    }

    fn waits(queue: &mut Queue, stream: StreamId, event: Ticket) {
        queue.submit(stream, Some(event), Seen::OnDevice, Box::new(|| Ok(())));
    }

    fn due(queue: &Queue, wanted: Ticket) -> Vec<u64> {
        queue.due(vec![wanted]).into_iter().map(|ticket| ticket.0).collect()
    }

    #[test]
    fn the_default_stream_is_behind_all_blocking_ones_and_they_behind_it() {
        let mut queue = Queue::default();
        submit(&mut queue, LEFT);
        submit(&mut queue, RIGHT);
        let default = submit(&mut queue, DEFAULT_STREAM);
        let left = submit(&mut queue, LEFT);
        assert_eq!(due(&queue, default), [1, 2, 3]);
        assert_eq!(due(&queue, left), [1, 2, 3, 4]);
        assert_eq!(queue.before_host(RIGHT), [Ticket(2)]);
    }

    #[test]
    fn streams_and_the_default_streams_of_threads_have_no_order_among_each_other() {
        let mut queue = Queue::default();
        let thread = StreamId::MAX - 1;
        submit(&mut queue, LEFT);
        let own = submit(&mut queue, thread);
        assert_eq!(due(&queue, own), [2]);
        submit(&mut queue, DEFAULT_STREAM);
        let own = submit(&mut queue, thread);
        assert_eq!(due(&queue, own), [1, 2, 3, 4]);
    }

    #[test]
    fn a_non_blocking_stream_has_no_order_with_the_default_stream() {
        let mut queue = Queue::default();
        queue.non_blocking.insert(LEFT);
        submit(&mut queue, DEFAULT_STREAM);
        let left = submit(&mut queue, LEFT);
        let default = submit(&mut queue, DEFAULT_STREAM);
        assert_eq!(due(&queue, left), [2]);
        assert_eq!(due(&queue, default), [1, 3]);
        assert_eq!(queue.before_host(DEFAULT_STREAM), [Ticket(3)]);
    }

    #[test]
    fn a_stream_waits_for_an_event_as_it_was_recorded_then() {
        let mut queue = Queue::default();
        [LEFT, RIGHT].into_iter().for_each(|stream| _ = queue.non_blocking.insert(stream));
        submit(&mut queue, LEFT);
        let event = submit(&mut queue, LEFT);
        waits(&mut queue, RIGHT, event);
        // The event is recorded again, which the waiting stream does not know.
        submit(&mut queue, LEFT);
        submit(&mut queue, LEFT);
        let right = submit(&mut queue, RIGHT);
        assert_eq!(due(&queue, right), [1, 2, 3, 6]);
    }

    #[test]
    fn what_is_done_is_waited_for_by_nobody() {
        let mut queue = Queue::default();
        let event = submit(&mut queue, LEFT);
        let second = submit(&mut queue, LEFT);
        assert!(queue.take(event).is_some());
        waits(&mut queue, RIGHT, event);
        let right = submit(&mut queue, RIGHT);
        assert_eq!(due(&queue, right), [3, 4]);
        assert_eq!(due(&queue, second), [2]);
        assert!(queue.due(vec![event]).is_empty());
    }
}
