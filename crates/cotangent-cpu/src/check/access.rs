//! The checks of single accesses, of kernels and of the host.
//!
//! [`Checker::access`] is called for every load and store of a kernel, so its way through for a correct access is
//! short: the region that the same instruction touched last, alignment, the granules. Everything that leads to a
//! finding is in `diagnose.rs`.
//!
//! A `memcpy` that reads uninitialised shared memory is no finding: structs are copied with their padding. If it
//! copies into shared memory, the copied bytes are as initialised as their source; elsewhere the fact is lost.
//!
//! What a copy of the host's brings to the device counts as initialised, whatever its source is.
//!
//! Of a copy or fill of more than 64 MB only the beginning is looked at for races.

use std::ops::Range;

use super::Checker;
use super::finding::Actor;
use super::input::{Access, AccessKind, Copy, Side, Space, Verdict};
use super::memory::{RegionId, RegionKind};
use super::site::SiteId;

/// How much larger than the memory its shadow is.
const SHADOW_FACTOR: usize = 16;

/// Whether a read of uninitialised memory is a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Initialisation {
    Demanded,
    NotDemanded,
}

impl Checker {
    /// A thread of the running block is about to access memory.
    #[inline]
    pub fn access(&mut self, thread: u32, access: Access) -> Verdict {
        self.settle();
        self.kernel_access(thread, &access, Initialisation::Demanded)
    }

    /// A thread of the running block is about to copy memory.
    pub fn copy(&mut self, thread: u32, copy: Copy) -> Verdict {
        self.settle();
        let Copy { destination, source, size, site } = copy;
        let read = Access { address: source, size, kind: AccessKind::Read, alignment: 1, site };
        let write = Access { address: destination, size, kind: AccessKind::Write, alignment: 1, site };
        if self.kernel_access(thread, &read, Initialisation::NotDemanded) == Verdict::Fatal {
            return Verdict::Fatal;
        }
        let initialised = self.initialised_bytes(source..source + size);
        let verdict = self.kernel_access(thread, &write, Initialisation::NotDemanded);
        if verdict == Verdict::Continue
            && let Some(initialised) = initialised
        {
            self.set_initialised(destination, &initialised);
        }
        verdict
    }

    /// The host is about to access memory.
    #[inline]
    pub fn host_access(&mut self, access: Access) -> Verdict {
        self.settle();
        if access.size == 0 || !self.memory.may_be_device(access.address) {
            return Verdict::Continue;
        }
        self.host_access_near_device(&access)
    }

    /// The host asks for a copy or a fill, of which this is one side; [`AccessKind::Read`] is the source.
    pub fn transfer(&mut self, side: Side, access: Access) -> Verdict {
        self.settle();
        if access.size == 0 {
            return Verdict::Continue;
        }
        let range = access.range();
        let found = self.memory.find(access.address).filter(|id| self.is_usable_by_device(*id, &range));
        match (side, found) {
            (Side::Device, Some(id)) => self.transfer_within(&access, id),
            (Side::Device, None) => self.invalid(Actor::Host, &access),
            (Side::Host, Some(id)) if self.is_usable_by_host(id) => self.transfer_within(&access, id),
            (Side::Host, _) => self.host_access(access),
        }
    }

    fn transfer_within(&mut self, access: &Access, id: RegionId) -> Verdict {
        let site = self.sites.memo(access.site).id;
        // Shadow memory is larger than what it is the shadow of, and copies are larger than what kernels touch of them.
        let size = access.size.min(self.options.shadow_limit / SHADOW_FACTOR);
        self.check_races(0, &Access { size, ..*access }, id, site);
        self.check_initialised(0, access, id, Initialisation::NotDemanded);
        Verdict::Continue
    }

    #[inline]
    fn kernel_access(&mut self, thread: u32, access: &Access, initialisation: Initialisation) -> Verdict {
        let range = access.range();
        let stack = &self.memory.stack;
        if (stack.start <= range.start && range.end <= stack.end) || access.size == 0 || self.memory.is_ignored(&range)
        {
            return Verdict::Continue;
        }
        let memo = self.sites.memo(access.site);
        if !self.memory.region(memo.region).contains(&range) {
            match self.memory.find(range.start) {
                Some(found) if self.memory.region(found).contains(&range) => memo.region = found,
                _ => return self.invalid(self.launch.actor(thread), access),
            }
        }
        let (id, site) = (memo.region, memo.id);
        if access.address & access.alignment.wrapping_sub(1) != 0 {
            return self.misaligned(thread, access, id);
        }
        match self.memory.region(id).kind {
            RegionKind::Global { freed: Some(_), .. } => self.invalid(self.launch.actor(thread), access),
            RegionKind::Global { space: Space::Constant, .. } | RegionKind::ReadOnly => match access.kind {
                AccessKind::Read | AccessKind::CachedRead => Verdict::Continue,
                AccessKind::Write | AccessKind::Atomic => self.write_to_readonly(thread, access, id),
            },
            RegionKind::Global { freed: None, .. } | RegionKind::StaticShared | RegionKind::DynamicShared => {
                self.check_initialised(thread, access, id, initialisation);
                self.check_races(thread, access, id, site);
                Verdict::Continue
            }
        }
    }

    #[inline]
    fn check_races(&mut self, thread: u32, access: &Access, id: RegionId, site: SiteId) {
        let mut now = self.launch.now(&self.streams, thread);
        let (region, shadow_bytes) = self.memory.region_mut(id);
        if region.is_shared() {
            // What other blocks did at these addresses was in their own shared memory.
            now.first_of_launch = now.first_of_block;
            now.first_unordered = now.first_of_block;
            now.first_open = now.first_of_block;
        }
        let start = access.address - region.origin();
        let mut found = None;
        region.shadow.visit(start..start + access.size, shadow_bytes, |granule| {
            if let Some(conflict) = granule.access(access.kind, &now, site) {
                found.get_or_insert(conflict);
            }
        });
        if let Some(conflict) = found {
            self.race(thread, access, id, conflict);
        }
    }

    #[inline]
    fn check_initialised(&mut self, thread: u32, access: &Access, id: RegionId, demanded: Initialisation) {
        let (region, _) = self.memory.region_mut(id);
        if !region.has_initialisation() {
            return;
        }
        let start = access.address - region.range.start;
        let bytes = start..start + access.size;
        let missing = access.kind != AccessKind::Write
            && demanded == Initialisation::Demanded
            && region.initialised.has_empty_group(bytes.clone());
        if !access.kind.is_read() {
            region.initialised.set(bytes, true);
        }
        if missing {
            self.uninitialised(thread, access, id);
        }
    }

    /// For each byte of a range whether it is initialised; nothing for memory of which that is not known.
    fn initialised_bytes(&self, range: Range<usize>) -> Option<Vec<bool>> {
        let region = self.memory.region(self.memory.find(range.start)?);
        let start = range.start - region.range.start;
        let bytes = start..start + range.len();
        region.has_initialisation().then(|| bytes.map(|offset| region.initialised.get(offset)).collect())
    }

    fn set_initialised(&mut self, address: usize, initialised: &[bool]) {
        let Some(id) = self.memory.find(address) else { return };
        let (region, _) = self.memory.region_mut(id);
        if region.has_initialisation() {
            let start = address - region.range.start;
            for (index, initialised) in initialised.iter().enumerate() {
                region.initialised.set(start + index..start + index + 1, *initialised);
            }
        }
    }

    fn is_usable_by_device(&self, id: RegionId, range: &Range<usize>) -> bool {
        let region = self.memory.region(id);
        region.contains(range) && matches!(region.kind, RegionKind::Global { freed: None, .. })
    }

    fn is_usable_by_host(&self, id: RegionId) -> bool {
        matches!(self.memory.region(id).kind, RegionKind::Global { space: Space::Managed | Space::Pinned, .. })
    }

    #[cold]
    fn host_access_near_device(&mut self, access: &Access) -> Verdict {
        let Some(id) = self.memory.find(access.address) else {
            let in_arena = self.memory.arena.contains(&access.address);
            return if in_arena { self.invalid(Actor::Host, access) } else { Verdict::Continue };
        };
        let region = self.memory.region(id);
        match region.kind {
            RegionKind::Global { space: Space::Device | Space::Constant, freed: None } => {
                self.device_pointer_on_host(access, id)
            }
            RegionKind::Global { space: Space::Managed | Space::Pinned, freed: None }
                if region.contains(&access.range()) =>
            {
                self.begin_host_operation();
                self.transfer_within(access, id)
            }
            RegionKind::Global { .. } => self.invalid(Actor::Host, access),
            RegionKind::StaticShared | RegionKind::DynamicShared | RegionKind::ReadOnly => Verdict::Continue,
        }
    }
}
