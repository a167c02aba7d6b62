//! Stores of two threads to one element that race, but store the same value: a note and no error.
//!
//! The checker is told of a store before it is made. So a race of two stores waits until the next event, when the memory
//! holds what was stored, and is compared with what the other thread had left there.

use super::Checker;
use super::code::Code;
use super::finding::Event;
use super::input::Access;
use super::memory::RegionId;

/// The largest value that one instruction stores.
const LARGEST: usize = 16;

/// A race of two stores, of which the later one has not been made yet.
pub(super) struct Pending {
    /// What it is if the values differ.
    code: Code,
    earlier: Event,
    later: Event,
    access: Access,
    region: RegionId,
    /// What the earlier store left.
    before: Vec<u8>,
}

impl Checker {
    /// Two stores race. Without a way to look at the memory they are an error at once.
    pub(super) fn stores_race(&mut self, code: Code, events: (Event, Event), access: &Access, region: RegionId) {
        let (earlier, later) = events;
        match self.options.peek.filter(|_| access.size <= LARGEST) {
            Some(peek) => {
                let before = peek(access.range());
                self.pending = Some(Pending { code, earlier, later, access: *access, region, before });
            }
            None => self.find(code, None, earlier, Some(later), Some((access, region))),
        }
    }

    /// Whatever was about to happen at the last event has happened.
    #[inline]
    pub(super) fn settle(&mut self) {
        if self.pending.is_some() {
            self.settle_stores();
        }
    }

    #[cold]
    fn settle_stores(&mut self) {
        let (Some(pending), Some(peek)) = (self.pending.take(), self.options.peek) else { return };
        let Pending { code, earlier, later, access, region, before } = pending;
        let code = if peek(access.range()) == before { Code::SameValue } else { code };
        self.find(code, None, earlier, Some(later), Some((&access, region)));
    }
}
