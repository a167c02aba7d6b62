//! Which operations of the program (launches, copies, fills, host functions) are ordered: by their stream, by events, by
//! the host.
//!
//! Each stream counts its operations. A clock says, for each stream, how many of them are done. An operation begins when
//! all is done that its stream has waited for, and all that the host knew when it asked for it. The default stream waits
//! for all others, and all others wait for it, except those that are made as non-blocking.
//!
//! The host is a stream of its own here, whose operations are the stretches between two calls of the runtime. What it has
//! done is done for every later operation; what it may touch must be done for the host.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// The name of a stream; the default stream is zero.
pub type StreamId = usize;

/// The default stream that waits for others (`cudaStreamLegacy`).
pub const DEFAULT_STREAM: StreamId = 0;

/// The host's own accesses. No handle has this number.
const HOST: StreamId = StreamId::MAX;

/// How many operations of each stream are done.
type Clock = BTreeMap<StreamId, u32>;

/// An operation that may not be done yet for some stream.
struct Operation {
    /// The first segment of its accesses.
    segment: u32,
    stream: StreamId,
    /// Its number in its stream, from one.
    number: u32,
}

/// The order of operations so far.
#[derive(Default)]
pub(super) struct Streams {
    clocks: HashMap<StreamId, Clock>,
    non_blocking: HashSet<StreamId>,
    destroyed: Vec<StreamId>,
    events: HashMap<usize, Clock>,
    host: Clock,
    /// What is not certainly done when any operation begins, in the order of their segments.
    open: VecDeque<Operation>,
    /// Of the same operations, numbers and first segments by stream, without the host's, which everybody comes after.
    by_stream: HashMap<StreamId, VecDeque<(u32, u32)>>,
    /// What is done for the operation at hand.
    now: Clock,
    /// Whether the operation at hand is the host's.
    is_host: bool,
    /// Whether a clock was taken since the last operation began, so that the next one needs a number of its own.
    is_observed: bool,
}

impl Streams {
    pub(super) fn created_non_blocking(&mut self, stream: StreamId) {
        self.non_blocking.insert(stream);
    }

    /// The program will not name the stream again; its operations are still on their way.
    pub(super) fn destroyed(&mut self, stream: StreamId) {
        self.destroyed.push(stream);
    }

    /// An operation begins, whose accesses have segments from this one on. Returns the first segment of an earlier
    /// operation without an order to it, or its own.
    pub(super) fn begin(&mut self, stream: StreamId, segment: u32) -> u32 {
        let clock = self.clock_of_next(stream);
        let clock = self.numbered(clock, stream, segment);
        self.now = clock.clone();
        self.clocks.insert(stream, clock);
        self.is_host = false;
        self.first_unordered().unwrap_or(segment)
    }

    /// The same for accesses of the host's.
    pub(super) fn begin_host(&mut self, segment: u32) -> u32 {
        let clock = std::mem::take(&mut self.host);
        self.host = self.numbered(clock, HOST, segment);
        self.now = self.host.clone();
        self.is_host = true;
        self.first_unordered().unwrap_or(segment)
    }

    /// Whether the host's accesses belong to the operation at hand: nothing has happened since it began.
    pub(super) fn is_host(&self) -> bool {
        self.is_host
    }

    /// Whether the operation of an earlier segment has no order to the one at hand.
    pub(super) fn is_unordered(&self, segment: u32) -> bool {
        let following = self.open.partition_point(|open| open.segment <= segment);
        let Some(open) = following.checked_sub(1).and_then(|index| self.open.get(index)) else { return false };
        !is_done(&self.now, open)
    }

    /// The first segment of an operation that the host has not waited for.
    pub(super) fn first_open(&self) -> u32 {
        self.open.front().map_or(u32::MAX, |open| open.segment)
    }

    /// Segments are numbered anew, and nothing is remembered of what was accessed.
    pub(super) fn forget(&mut self) {
        self.open.clear();
        self.by_stream.clear();
        self.is_observed = true;
        self.is_host = false;
    }

    pub(super) fn recorded(&mut self, event: usize, stream: StreamId) {
        let clock = self.clock_of_next(stream);
        self.is_observed = true;
        self.events.insert(event, clock);
    }

    pub(super) fn waits(&mut self, stream: StreamId, event: usize) {
        let Some(reached) = self.events.get(&event).cloned() else { return };
        join(self.clocks.entry(stream).or_default(), &reached);
    }

    /// The host has waited for a stream.
    pub(super) fn synchronized(&mut self, stream: StreamId) {
        // The default stream's last operation waits for all that was asked for before it.
        let clock = if stream == DEFAULT_STREAM { self.clock_of_next(stream) } else { self.clock(stream) };
        self.host_knows(&clock);
    }

    /// The host has waited for an event.
    pub(super) fn reached(&mut self, event: usize) {
        if let Some(reached) = self.events.get(&event).cloned() {
            self.host_knows(&reached);
        }
    }

    /// The host has waited for everything.
    pub(super) fn all_done(&mut self) {
        let mut all = Clock::new();
        self.clocks.values().for_each(|clock| join(&mut all, clock));
        self.host_knows(&all);
        for stream in std::mem::take(&mut self.destroyed) {
            self.clocks.remove(&stream);
            self.non_blocking.remove(&stream);
            self.host.remove(&stream);
            self.by_stream.remove(&stream);
            self.clocks.values_mut().for_each(|clock| _ = clock.remove(&stream));
        }
    }

    fn host_knows(&mut self, clock: &Clock) {
        join(&mut self.host, clock);
        self.is_observed = true;
        self.is_host = false;
        while let Some(done) = self.open.front().filter(|open| is_done(&self.host, open)) {
            if let Some(same) = self.by_stream.get_mut(&done.stream) {
                same.pop_front();
            }
            self.open.pop_front();
        }
    }

    fn clock(&self, stream: StreamId) -> Clock {
        self.clocks.get(&stream).cloned().unwrap_or_default()
    }

    /// What is done when the next operation of a stream begins.
    fn clock_of_next(&self, stream: StreamId) -> Clock {
        let mut clock = self.clock(stream);
        join(&mut clock, &self.host);
        if stream == DEFAULT_STREAM {
            let blocking = self.clocks.iter().filter(|(other, _)| !self.non_blocking.contains(other));
            blocking.for_each(|(_, other)| join(&mut clock, other));
        } else if !self.non_blocking.contains(&stream)
            && let Some(first) = self.clocks.get(&DEFAULT_STREAM)
        {
            join(&mut clock, first);
        }
        clock
    }

    /// The clock with one more operation of its own stream. Operations of one stream that nobody can tell apart share a
    /// number, so that a program that never waits does not fill the memory.
    fn numbered(&mut self, mut clock: Clock, stream: StreamId, segment: u32) -> Clock {
        let is_continued = !self.is_observed && self.open.back().is_some_and(|open| open.stream == stream);
        let number = clock.entry(stream).or_insert(0);
        if !is_continued {
            *number += 1;
            self.open.push_back(Operation { segment, stream, number: *number });
            if stream != HOST {
                self.by_stream.entry(stream).or_default().push_back((*number, segment));
            }
            self.is_observed = false;
        }
        clock
    }

    fn first_unordered(&self) -> Option<u32> {
        let first_of = |(stream, operations): (&StreamId, &VecDeque<(u32, u32)>)| {
            let done = self.now.get(stream).copied().unwrap_or(0);
            operations.get(operations.partition_point(|(number, _)| *number <= done)).map(|(_, segment)| *segment)
        };
        self.by_stream.iter().filter_map(first_of).min()
    }
}

fn is_done(clock: &Clock, open: &Operation) -> bool {
    clock.get(&open.stream).is_some_and(|done| *done >= open.number)
}

fn join(clock: &mut Clock, other: &Clock) {
    for (stream, done) in other {
        let known = clock.entry(*stream).or_insert(0);
        *known = (*known).max(*done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_order_what_streams_do_not() {
        let mut streams = Streams::default();
        let (left, right, event) = (17, 18, 40);
        assert_eq!(streams.begin(left, 1), 1);
        // The other stream knows nothing of it.
        assert_eq!(streams.begin(right, 2), 1);
        assert!(streams.is_unordered(1));
        streams.recorded(event, left);
        streams.waits(right, event);
        assert_eq!(streams.begin(right, 3), 3);
        assert!(!streams.is_unordered(1));
        // The first one does not know what the second has done since.
        assert_eq!(streams.begin(left, 4), 2);
        streams.synchronized(right);
        assert_eq!(streams.begin(left, 5), 5);
    }

    #[test]
    fn the_default_stream_waits_for_all_and_all_wait_for_it() {
        let mut streams = Streams::default();
        assert_eq!(streams.begin(17, 1), 1);
        assert_eq!(streams.begin(0, 2), 2);
        assert_eq!(streams.begin(18, 3), 3);
        assert_eq!(streams.begin(17, 4), 3);
        streams.all_done();
        assert_eq!(streams.begin(17, 5), 5);
    }

    #[test]
    fn a_non_blocking_stream_waits_for_nobody() {
        let mut streams = Streams::default();
        streams.created_non_blocking(17);
        assert_eq!(streams.begin(0, 1), 1);
        assert_eq!(streams.begin(17, 2), 1);
        assert_eq!(streams.begin(0, 3), 2);
        assert!(!streams.is_unordered(1));
        streams.synchronized(17);
        assert_eq!(streams.begin(0, 4), 4);
        assert_eq!(streams.begin(17, 5), 1);
        // Nor does who waits for the default stream wait for it.
        streams.recorded(40, 0);
        streams.reached(40);
        assert_eq!(streams.begin_host(6), 5);
    }

    #[test]
    fn an_event_of_a_blocking_stream_is_behind_the_default_stream() {
        let mut streams = Streams::default();
        assert_eq!(streams.begin(0, 1), 1);
        streams.recorded(40, 17);
        streams.reached(40);
        assert_eq!(streams.begin_host(2), 2);
    }

    #[test]
    fn the_host_is_before_what_it_asks_for_later_and_not_behind_what_it_has_not_waited_for() {
        let mut streams = Streams::default();
        assert_eq!(streams.begin_host(1), 1);
        assert_eq!(streams.begin(0, 2), 2);
        assert_eq!(streams.begin_host(3), 2);
        assert!(streams.is_unordered(2));
        assert!(!streams.is_unordered(1));
        streams.synchronized(0);
        assert!(!streams.is_host());
        assert_eq!(streams.begin_host(4), 4);
    }

    #[test]
    fn operations_of_one_stream_need_no_memory_each() {
        let mut streams = Streams::default();
        for segment in 1..1000 {
            assert_eq!(streams.begin(0, segment), segment);
        }
        assert_eq!(streams.open.len(), 1);
        assert_eq!(streams.begin_host(1000), 1);
        assert!(streams.is_unordered(999));
    }
}
