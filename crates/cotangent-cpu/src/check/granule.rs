//! What is remembered about one granule of memory (four bytes, or one), and the decision whether an access races.
//!
//! A granule has three slots. Each holds a [`Stamp`]: the accesses of one kind that lanes of one warp made in one
//! segment and epoch, lanes as a mask. Accesses of lanes that run the same instruction share a slot.
//!
//! An access is compared with every slot, then recorded. What is not needed any more gives way:
//!
//! - A plain write takes the whole granule. Without a race everything earlier is ordered before it, so whatever
//!   is unordered with something earlier is unordered with the write too.
//! - A read takes the place of reads that are ordered before it, and likewise an atomic that of atomics. They do
//!   not replace one another, as they conflict with different things.
//! - What an earlier phase of the block did matters only to other blocks, and there a write stands for all.
//! - One access of an earlier block stands for all later ones of its kind: whoever comes now is in another block.
//! - Two accesses of one kind in one segment by different warps stand for all further ones of their kind: nobody
//!   is ordered after both.
//! - What earlier launches and copies did that the host has not waited for stays as long as there is room: a stream may
//!   come that is not ordered after it. A write takes its place, and a read or atomic that of its kind if ordered after.
//!
//! - Reads through the read-only cache conflict with every write of their launch, before or after, ordered or not. They are
//!   a kind of their own, and one stands for all of a launch.
//!
//! With these rules, as long as a granule has no race, three slots are enough unless lanes of one warp run apart
//! by partial masks and access the same granule in three or more different epochs. Then the oldest is forgotten:
//! a race can be missed, but none is invented. After the first race on a granule, which is reported, others on the
//! same granule may be missed.

use super::input::AccessKind;
use super::launch::Now;
use super::site::SiteId;

/// The recorded accesses of a granule. If slot 0 is of an earlier launch, so are the others.
#[derive(Clone, Copy, Default)]
pub(super) struct Granule {
    slots: [Stamp; 3],
}

/// Accesses of one kind, by lanes of one warp, in one segment and epoch.
#[derive(Clone, Copy, Default)]
struct Stamp {
    /// Zero in an empty slot; segments are numbered from one.
    segment: u32,
    /// Epoch (24 bits), warp (5), inexact (1), kind (2).
    moment: u32,
    lanes: u32,
    /// Where one of the lanes made its access; where all of them did unless the stamp is inexact.
    site: SiteId,
}

/// An earlier access that the present one races with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) segment: u32,
    /// Index of the earlier thread in its block.
    pub(super) thread: u32,
    pub(super) kind: AccessKind,
    pub(super) site: SiteId,
    /// False if the site may be that of another lane of the thread's warp.
    pub(super) site_is_exact: bool,
    pub(super) relation: Relation,
}

/// How the threads of a conflict are related.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    SameWarp,
    SameBlock,
    OtherBlock,
    /// Of different launches or copies, in streams that do not wait for each other.
    OtherStream,
    /// Of one launch, ordered or not: one reads through the read-only cache.
    ReadOnlyCache,
}

const EPOCH_MASK: u32 = (1 << 24) - 1;
const WARP_SHIFT: u32 = 24;
const INEXACT: u32 = 1 << 29;
const KIND_SHIFT: u32 = 30;

impl Granule {
    /// Compares an access with what is recorded and records it.
    #[inline]
    pub(super) fn access(&mut self, kind: AccessKind, now: &Now<'_>, site: SiteId) -> Option<Conflict> {
        let mine = Stamp::new(kind, now, site);
        if !self.slots[0].is_live(now) {
            if now.first_open < now.first_of_launch {
                return self.first_access_of_operation(kind, now, mine);
            }
            self.slots[0] = mine;
            return None;
        }
        let first = &mut self.slots[0];
        let is_same = first.is_of_same_thread_and_epoch(&mine);
        if is_same && !self.slots[1].is_live(now) && !self.slots[2].is_live(now) {
            let first = &mut self.slots[0];
            let is_cached = kind == AccessKind::CachedRead || first.kind() == AccessKind::CachedRead;
            if first.kind() == kind || (first.kind() == AccessKind::Write && !is_cached) {
                return None;
            }
            if kind == AccessKind::Write && !is_cached && now.first_unordered >= now.first_of_launch {
                *first = mine;
                return None;
            }
        }
        self.access_among_others(kind, now, mine)
    }

    /// The launch or copy at hand has not touched the granule yet, and others may still be on their way.
    #[inline(never)]
    fn first_access_of_operation(&mut self, kind: AccessKind, now: &Now<'_>, mine: Stamp) -> Option<Conflict> {
        let conflict = self.conflict(kind, now);
        let is_kept = |stamp: &&Stamp| stamp.is_open(now) && (stamp.kind() != kind || stamp.is_concurrent(now));
        let mut slots = [mine, Stamp::default(), Stamp::default()];
        if kind != AccessKind::Write {
            // Writes first: they conflict with everything.
            let (writes, others): (Vec<&Stamp>, Vec<&Stamp>) =
                self.slots.iter().filter(is_kept).partition(|stamp| stamp.kind() == AccessKind::Write);
            let kept = writes.into_iter().chain(others);
            slots[1..].iter_mut().zip(kept).for_each(|(slot, stamp)| *slot = *stamp);
        }
        self.slots = slots;
        conflict
    }

    #[inline(never)]
    fn access_among_others(&mut self, kind: AccessKind, now: &Now<'_>, mine: Stamp) -> Option<Conflict> {
        match kind {
            AccessKind::Write => {
                let conflict = self.conflict(kind, now);
                self.slots = [mine, Stamp::default(), Stamp::default()];
                conflict
            }
            // Many threads that only read, or only use atomics, are frequent and need no comparison.
            AccessKind::Read | AccessKind::Atomic | AccessKind::CachedRead if self.has_only(kind, now) => {
                self.record_among_same_kind(now, mine);
                None
            }
            AccessKind::Read | AccessKind::Atomic | AccessKind::CachedRead => {
                let conflict = self.conflict(kind, now);
                self.record(now, mine);
                conflict
            }
        }
    }

    fn has_only(&self, kind: AccessKind, now: &Now<'_>) -> bool {
        self.slots.iter().all(|stamp| stamp.kind() == kind || !stamp.is_live(now))
    }

    /// What [`Granule::record`] does, for the simple cases of a granule with one kind of accesses.
    fn record_among_same_kind(&mut self, now: &Now<'_>, mine: Stamp) {
        for stamp in &mut self.slots {
            if !stamp.is_open(now) {
                *stamp = mine;
                return;
            }
            if stamp.is_same_moment(&mine) && stamp.site == mine.site {
                stamp.lanes |= mine.lanes;
                return;
            }
        }
        if self.slots.iter().all(|stamp| stamp.segment >= now.first_of_block || !stamp.is_live(now)) {
            self.record(now, mine);
        }
    }

    /// The recorded access that the present one races with; one of the same block rather than of another.
    fn conflict(&self, kind: AccessKind, now: &Now<'_>) -> Option<Conflict> {
        let mut found: Option<Conflict> = None;
        for stamp in &self.slots {
            if stamp.is_concurrent(now) && kinds_conflict(kind, stamp.kind()) {
                found = found.or_else(|| Some(stamp.in_conflict(stamp.lanes, Relation::OtherStream)));
            }
            if stamp.is_live(now) && kinds_conflict(kind, stamp.kind()) {
                let is_cached = kind == AccessKind::CachedRead || stamp.kind() == AccessKind::CachedRead;
                let conflict = match is_cached {
                    true => Some(stamp.in_conflict(stamp.lanes, Relation::ReadOnlyCache)),
                    false => stamp.unordered(now),
                };
                if conflict.is_some()
                    && found.is_none_or(|found| matches!(found.relation, Relation::OtherBlock | Relation::OtherStream))
                {
                    found = conflict;
                }
            }
        }
        found
    }

    /// Records a read or an atomic.
    fn record(&mut self, now: &Now<'_>, mine: Stamp) {
        let slots = &mut self.slots;
        let wrote_it_myself =
            |stamp: &Stamp| stamp.kind() == AccessKind::Write && stamp.is_of_same_thread_and_epoch(&mine);
        let is_cached = mine.kind() == AccessKind::CachedRead;
        if slots.iter().any(wrote_it_myself) || (is_cached && is_covered(slots, now, &mine)) {
            return;
        }
        if let Some(stamp) = slots.iter_mut().find(|stamp| stamp.is_same_moment(&mine) && stamp.site == mine.site) {
            stamp.lanes |= mine.lanes;
            return;
        }
        if let Some(index) = replaceable(slots, now, &mine) {
            slots[index] = mine;
            return;
        }
        if let Some(stamp) = slots.iter_mut().find(|stamp| stamp.is_same_moment(&mine)) {
            stamp.lanes |= mine.lanes;
            stamp.moment |= INEXACT;
            return;
        }
        if !is_covered(slots, now, &mine) {
            let earlier = slots.iter().rposition(|stamp| !stamp.is_live(now));
            slots[earlier.unwrap_or_else(|| victim(slots, now, &mine))] = mine;
        }
    }
}

/// A slot whose record is not needed any more once `mine` is recorded.
fn replaceable(slots: &[Stamp; 3], now: &Now<'_>, mine: &Stamp) -> Option<usize> {
    let dead = |stamp: &Stamp| !stamp.is_open(now);
    let same_kind_before = |stamp: &Stamp| {
        stamp.kind() == mine.kind() && stamp.segment >= now.first_of_block && stamp.unordered(now).is_none()
    };
    let written = slots.iter().any(|stamp| stamp.is_live(now) && stamp.kind() == AccessKind::Write);
    let stood_for_by_write = |stamp: &Stamp| {
        written && stamp.kind() != AccessKind::Write && (now.first_of_block..now.segment).contains(&stamp.segment)
    };
    let position = |test: &dyn Fn(&Stamp) -> bool| slots.iter().position(test);
    position(&dead).or_else(|| position(&same_kind_before)).or_else(|| position(&stood_for_by_write))
}

/// Whether whatever will race with `mine` will race with a recorded access as well.
fn is_covered(slots: &[Stamp; 3], now: &Now<'_>, mine: &Stamp) -> bool {
    let same_kind = || slots.iter().filter(|stamp| stamp.is_live(now) && stamp.kind() == mine.kind());
    if mine.kind() == AccessKind::CachedRead {
        return same_kind().next().is_some();
    }
    let mut warps = same_kind().filter(|stamp| stamp.segment == now.segment).map(Stamp::warp);
    let first_warp = warps.next();
    same_kind().any(|stamp| stamp.segment < now.first_of_block) || warps.any(|warp| Some(warp) != first_warp)
}

/// The slot to give up when all are in use.
fn victim(slots: &[Stamp; 3], now: &Now<'_>, mine: &Stamp) -> usize {
    let others_have = |index: usize, test: &dyn Fn(&Stamp) -> bool| {
        slots.iter().enumerate().any(|(other, stamp)| other != index && test(stamp))
    };
    // Of the other kind, only one of an earlier phase is needed, for the sake of other blocks.
    let doubled = (0..slots.len()).find(|index| {
        let stamp = &slots[*index];
        stamp.kind() != AccessKind::Write
            && stamp.kind() != mine.kind()
            && (now.first_of_block..now.segment).contains(&stamp.segment)
            && others_have(*index, &|other| other.kind() == stamp.kind() && other.segment >= now.first_of_block)
    });
    // Of the own kind, one by another warp is enough together with `mine`.
    let covered = || {
        (0..slots.len()).find(|index| {
            slots[*index].kind() == mine.kind()
                && others_have(*index, &|other| {
                    other.kind() == mine.kind() && other.segment == now.segment && other.warp() != mine.warp()
                })
        })
    };
    let own_kind = || slots.iter().position(|stamp| stamp.kind() == mine.kind());
    let no_write = || slots.iter().position(|stamp| stamp.kind() != AccessKind::Write);
    doubled.or_else(covered).or_else(own_kind).or_else(no_write).unwrap_or(slots.len() - 1)
}

fn kinds_conflict(a: AccessKind, b: AccessKind) -> bool {
    a == AccessKind::Write || (a != b && !(a.is_read() && b.is_read()))
}

impl Stamp {
    #[inline]
    fn new(kind: AccessKind, now: &Now<'_>, site: SiteId) -> Stamp {
        let moment = (kind as u32) << KIND_SHIFT | now.warp << WARP_SHIFT | now.epoch;
        Stamp { segment: now.segment, moment, lanes: 1 << now.lane, site }
    }

    /// Whether the record is of this launch.
    #[inline]
    fn is_live(&self, now: &Now<'_>) -> bool {
        self.segment >= now.first_of_launch
    }

    /// Whether the record is of this launch, or of an operation that the host has not waited for.
    #[inline]
    fn is_open(&self, now: &Now<'_>) -> bool {
        self.segment >= now.first_open
    }

    fn kind(&self) -> AccessKind {
        match self.moment >> KIND_SHIFT {
            kind if kind == AccessKind::Read as u32 => AccessKind::Read,
            kind if kind == AccessKind::Write as u32 => AccessKind::Write,
            kind if kind == AccessKind::Atomic as u32 => AccessKind::Atomic,
            _ => AccessKind::CachedRead,
        }
    }

    fn warp(&self) -> u32 {
        (self.moment & (INEXACT - 1)) >> WARP_SHIFT
    }

    #[inline]
    fn is_of_same_thread_and_epoch(&self, other: &Stamp) -> bool {
        self.segment == other.segment && self.lanes == other.lanes && (self.moment ^ other.moment) & (INEXACT - 1) == 0
    }

    fn is_same_moment(&self, other: &Stamp) -> bool {
        self.segment == other.segment && (self.moment ^ other.moment) & !INEXACT == 0
    }

    /// One of the recorded accesses that is not ordered before the present one.
    fn unordered(&self, now: &Now<'_>) -> Option<Conflict> {
        let (lanes, relation) = if self.segment < now.first_of_block {
            (self.lanes, Relation::OtherBlock)
        } else if self.segment < now.segment {
            return None;
        } else if self.warp() != now.warp {
            (self.lanes, Relation::SameBlock)
        } else {
            let epoch = self.moment & EPOCH_MASK;
            let (warp, lane) = (now.warp as usize, now.lane as usize);
            (now.clocks.unordered(now.segment, warp, lane, self.lanes, epoch), Relation::SameWarp)
        };
        (lanes != 0).then(|| self.in_conflict(lanes, relation))
    }

    /// Whether the record is of an earlier launch or copy without an order to this one.
    fn is_concurrent(&self, now: &Now<'_>) -> bool {
        (now.first_unordered..now.first_of_launch).contains(&self.segment) && now.streams.is_unordered(self.segment)
    }

    fn in_conflict(&self, lanes: u32, relation: Relation) -> Conflict {
        Conflict {
            segment: self.segment,
            thread: self.warp() * 32 + lanes.trailing_zeros(),
            kind: self.kind(),
            site: self.site,
            site_is_exact: self.moment & INEXACT == 0,
            relation,
        }
    }
}
