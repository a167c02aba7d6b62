//! Which operations of the program (launches, copies, fills) are ordered: by their stream, by events, by the host.
//!
//! Each stream counts its operations. A clock says, for each stream, how many of them are done. An operation begins when
//! all is done that its stream has waited for, and all that the host knew when it asked for it. The default stream waits
//! for all others, and all others wait for it.

use std::collections::{BTreeMap, HashMap};

/// The name of a stream; the default stream is zero.
pub type StreamId = usize;

const DEFAULT: StreamId = 0;

/// Handles below this are names of the default stream.
const FIRST_OWN: StreamId = 3;

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
    events: HashMap<usize, Clock>,
    host: Clock,
    /// What is not certainly done when any operation begins, in the order of their segments.
    open: Vec<Operation>,
    /// What is done for the operation at hand.
    now: Clock,
    /// Whether the program has a stream of its own.
    is_used: bool,
}

impl Streams {
    /// Whether there is more than one stream, so that there may be operations without an order.
    pub(super) fn is_used(&self) -> bool {
        self.is_used
    }

    pub(super) fn created(&mut self) {
        self.is_used = true;
    }

    /// An operation begins, whose accesses have segments from this one on. Returns the first segment of an earlier
    /// operation without an order to it, or its own.
    pub(super) fn begin(&mut self, stream: StreamId, segment: u32) -> u32 {
        let stream = known(stream);
        let mut clock = self.clocks.remove(&stream).unwrap_or_default();
        join(&mut clock, &self.host);
        if stream == DEFAULT {
            self.clocks.values().for_each(|other| join(&mut clock, other));
        } else if let Some(first) = self.clocks.get(&DEFAULT) {
            join(&mut clock, first);
        }
        self.now = clock.clone();
        let number = clock.entry(stream).or_insert(0);
        *number += 1;
        let number = *number;
        self.now.insert(stream, number);
        self.clocks.insert(stream, clock);
        let everybodys = self.clocks.get(&DEFAULT).cloned().unwrap_or_default();
        let is_done =
            |clock: &Clock, open: &Operation| clock.get(&open.stream).is_some_and(|done| *done >= open.number);
        self.open.retain(|open| !is_done(&self.host, open) && !is_done(&everybodys, open));
        let unordered = self.open.iter().find(|open| !is_done(&self.now, open)).map(|open| open.segment);
        if self.is_used {
            self.open.push(Operation { segment, stream, number });
        }
        unordered.unwrap_or(segment)
    }

    /// Whether the operation of an earlier segment has no order to the one at hand.
    pub(super) fn is_unordered(&self, segment: u32) -> bool {
        let following = self.open.partition_point(|open| open.segment <= segment);
        let Some(open) = following.checked_sub(1).and_then(|index| self.open.get(index)) else { return false };
        self.now.get(&open.stream).is_none_or(|done| *done < open.number)
    }

    /// Segments are numbered anew, and nothing is remembered of what was accessed.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }

    pub(super) fn recorded(&mut self, event: usize, stream: StreamId) {
        let clock = self.clock(stream);
        self.events.insert(event, clock);
    }

    pub(super) fn waits(&mut self, stream: StreamId, event: usize) {
        let Some(reached) = self.events.get(&event).cloned() else { return };
        join(self.clocks.entry(known(stream)).or_default(), &reached);
    }

    /// The host has waited for a stream.
    pub(super) fn synchronized(&mut self, stream: StreamId) {
        let clock = self.clock(stream);
        join(&mut self.host, &clock);
    }

    /// The host has waited for an event.
    pub(super) fn reached(&mut self, event: usize) {
        if let Some(reached) = self.events.get(&event) {
            join(&mut self.host, reached);
        }
    }

    /// The host has waited for everything.
    pub(super) fn all_done(&mut self) {
        self.clocks.values().for_each(|clock| join(&mut self.host, clock));
    }

    /// What is done when all is done that a stream was asked for so far.
    fn clock(&self, stream: StreamId) -> Clock {
        let mut clock = self.clocks.get(&known(stream)).cloned().unwrap_or_default();
        if known(stream) == DEFAULT {
            self.clocks.values().for_each(|other| join(&mut clock, other));
        }
        clock
    }
}

fn known(stream: StreamId) -> StreamId {
    if stream < FIRST_OWN { DEFAULT } else { stream }
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
        streams.created();
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
        streams.created();
        assert_eq!(streams.begin(17, 1), 1);
        assert_eq!(streams.begin(0, 2), 2);
        assert_eq!(streams.begin(18, 3), 3);
        assert_eq!(streams.begin(17, 4), 3);
        streams.all_done();
        assert_eq!(streams.begin(17, 5), 5);
    }
}
