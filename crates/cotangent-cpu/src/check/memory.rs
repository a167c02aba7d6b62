//! The map of memory: which addresses belong to which allocation, variable or shared memory.

use std::ops::Range;

use super::bitmap::Bitmap;
use super::input::{SharedMemory, Space};
use super::shadow::Shadow;
use super::site::Site;

/// Memory of one origin.
pub(super) struct Region {
    pub(super) range: Range<usize>,
    pub(super) kind: RegionKind,
    pub(super) name: Option<String>,
    pub(super) allocated: Site,
    pub(super) shadow: Shadow,
    /// Which bytes of shared memory the block has written, or of an allocation on the device anybody; not used for others.
    pub(super) initialised: Bitmap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegionKind {
    Global {
        space: Space,
        /// Where it was freed.
        freed: Option<Site>,
    },
    StaticShared,
    DynamicShared,
    ReadOnly,
}

/// Index of a region. Regions are never removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegionId(u32);

impl RegionId {
    /// A region that contains nothing.
    pub(super) const NONE: RegionId = RegionId(0);
    const STATIC_SHARED: RegionId = RegionId(1);
    pub(super) const DYNAMIC_SHARED: RegionId = RegionId(2);
}

/// All regions of a run.
pub(super) struct Memory {
    regions: Vec<Region>,
    /// Allocations and symbols, freed ones included, by start. They do not overlap.
    sorted: Vec<(usize, RegionId)>,
    /// Searched last, because `const __constant__` variables lie inside.
    readonly: Vec<RegionId>,
    ignored: Vec<Range<usize>>,
    dynamic_capacity: usize,
    /// Bytes of all shadow pages.
    shadow_bytes: usize,
    /// See [`super::Checker::arena`].
    pub(super) arena: Range<usize>,
    /// The stack of the running thread.
    pub(super) stack: Range<usize>,
    /// From the lowest to the highest address of an allocation or symbol.
    hull: Range<usize>,
}

impl Region {
    pub(super) fn new(range: Range<usize>, kind: RegionKind, name: Option<String>, allocated: Site) -> Region {
        Region { range, kind, name, allocated, shadow: Shadow::default(), initialised: Bitmap::default() }
    }

    #[inline]
    pub(super) fn contains(&self, range: &Range<usize>) -> bool {
        self.range.start <= range.start && range.end <= self.range.end
    }

    /// How findings call this memory.
    pub(super) fn space_name(&self) -> &'static str {
        match self.kind {
            RegionKind::Global { space: Space::Device, .. } => "device memory",
            RegionKind::Global { space: Space::Constant, .. } => "constant memory",
            RegionKind::Global { space: Space::Managed, .. } => "managed memory",
            RegionKind::Global { space: Space::Pinned, .. } => "pinned host memory",
            RegionKind::StaticShared => "shared memory",
            RegionKind::DynamicShared => "dynamic shared memory",
            RegionKind::ReadOnly => "constant data",
        }
    }

    pub(super) fn is_shared(&self) -> bool {
        matches!(self.kind, RegionKind::StaticShared | RegionKind::DynamicShared)
    }

    /// Whether all that can write this memory is seen, and its first content is not defined.
    pub(super) fn has_initialisation(&self) -> bool {
        let is_live = matches!(self.kind, RegionKind::Global { space: Space::Device, freed: None });
        let is_allocation = is_live && self.name.is_none();
        self.is_shared() || is_allocation
    }

    /// Where the offsets of the shadow start: granules of four bytes are aligned in memory even if the region is
    /// not.
    pub(super) fn origin(&self) -> usize {
        self.range.start & !3
    }
}

impl Memory {
    pub(super) fn new() -> Memory {
        let empty = |kind| Region::new(0..0, kind, None, Site::Unknown);
        Memory {
            regions: vec![
                empty(RegionKind::ReadOnly),
                empty(RegionKind::StaticShared),
                empty(RegionKind::DynamicShared),
            ],
            sorted: Vec::new(),
            readonly: Vec::new(),
            ignored: Vec::new(),
            dynamic_capacity: 0,
            shadow_bytes: 0,
            arena: 0..0,
            stack: 0..0,
            hull: 0..0,
        }
    }

    pub(super) fn add(&mut self, region: Region) {
        let id = RegionId(u32::try_from(self.regions.len()).expect("fewer than 2^32 regions"));
        if region.kind == RegionKind::ReadOnly {
            self.readonly.push(id);
        } else {
            self.hull = union(&self.hull, &region.range);
            // Memory that was freed and, against the contract, handed out again is the new region's.
            let end = region.range.end.max(region.range.start + 1);
            let (first, last) = self.overlapping(region.range.start..end);
            self.sorted.splice(first..last, [(region.range.start, id)]);
        }
        self.regions.push(region);
    }

    /// Telling it twice changes nothing: every access looks through the list.
    pub(super) fn ignore(&mut self, range: Range<usize>) {
        if !self.ignored.contains(&range) {
            self.ignored.push(range);
        }
    }

    #[inline]
    pub(super) fn is_ignored(&self, range: &Range<usize>) -> bool {
        self.ignored.iter().any(|ignored| ignored.start <= range.start && range.end <= ignored.end)
    }

    /// A block begins with this shared memory.
    pub(super) fn set_shared(&mut self, shared: SharedMemory) {
        self.dynamic_capacity = shared.dynamic_capacity;
        let ranges = [(RegionId::STATIC_SHARED, shared.static_range), (RegionId::DYNAMIC_SHARED, shared.dynamic_range)];
        for (id, range) in ranges {
            let region = &mut self.regions[id.0 as usize];
            region.initialised.clear(range.len());
            // The shadow is kept: its records are those of another block, which shared memory ignores.
            region.range = range;
        }
    }

    #[inline]
    pub(super) fn region(&self, id: RegionId) -> &Region {
        &self.regions[id.0 as usize]
    }

    #[inline]
    pub(super) fn region_mut(&mut self, id: RegionId) -> (&mut Region, &mut usize) {
        (&mut self.regions[id.0 as usize], &mut self.shadow_bytes)
    }

    /// The region that an address lies in.
    pub(super) fn find(&self, address: usize) -> Option<RegionId> {
        let contains = |id: &RegionId| self.region(*id).range.contains(&address);
        let shared = [RegionId::STATIC_SHARED, RegionId::DYNAMIC_SHARED];
        shared
            .into_iter()
            .find(contains)
            .or_else(|| self.starting_at_or_before(address).filter(contains))
            .or_else(|| self.readonly.iter().copied().find(contains))
    }

    /// The allocation or symbol that starts at an address; one without bytes contains nothing but starts somewhere.
    pub(super) fn find_start(&self, address: usize) -> Option<RegionId> {
        self.starting_at_or_before(address).filter(|id| self.region(*id).range.start == address)
    }

    /// Remembers that a region was freed; what was known about its bytes is given back.
    pub(super) fn mark_freed(&mut self, id: RegionId, site: Site) {
        let region = &mut self.regions[id.0 as usize];
        if let RegionKind::Global { freed, .. } = &mut region.kind {
            *freed = Some(site);
        }
        region.initialised = Bitmap::default();
        self.shadow_bytes -= region.shadow.clear();
    }

    /// The allocation, symbol or dynamic shared memory that an address outside of all regions most likely means,
    /// if it is not further away than `distance` or lies in the arena.
    pub(super) fn nearest(&self, address: usize, distance: usize) -> Option<RegionId> {
        let dynamic = self.region(RegionId::DYNAMIC_SHARED).range.start;
        if (dynamic..dynamic + self.dynamic_capacity).contains(&address) {
            return Some(RegionId::DYNAMIC_SHARED);
        }
        let distance = if self.arena.contains(&address) { usize::MAX } else { distance };
        let before = self.starting_at_or_before(address);
        let after = self.sorted.get(self.sorted.partition_point(|(start, _)| *start <= address));
        let gap_before = |id: &RegionId| address.saturating_sub(self.region(*id).range.end);
        let before = before.map(|id| (gap_before(&id), id));
        let after = after.map(|(start, id)| (start - address, *id));
        let statics = [RegionId::STATIC_SHARED].into_iter().filter_map(|id| {
            let range = &self.region(id).range;
            let gap = if address < range.start { range.start - address } else { address - range.end };
            (!range.is_empty()).then_some((gap, id))
        });
        let candidates = before.into_iter().chain(after).chain(statics);
        candidates.filter(|(gap, _)| *gap <= distance).min_by_key(|(gap, _)| *gap).map(|(_, id)| id)
    }

    /// Whether an address is one that host code must not just use; false for most of the host's memory.
    #[inline]
    pub(super) fn may_be_device(&self, address: usize) -> bool {
        self.hull.contains(&address) || self.arena.contains(&address)
    }

    pub(super) fn shadow_bytes(&self) -> usize {
        self.shadow_bytes
    }

    /// Gives all shadow memory back.
    pub(super) fn forget_accesses(&mut self) {
        for region in &mut self.regions {
            region.shadow.clear();
        }
        self.shadow_bytes = 0;
    }

    fn starting_at_or_before(&self, address: usize) -> Option<RegionId> {
        let following = self.sorted.partition_point(|(start, _)| *start <= address);
        following.checked_sub(1).map(|index| self.sorted[index].1)
    }

    /// The part of `sorted` whose regions overlap a range, an empty region counting as one byte.
    fn overlapping(&self, range: Range<usize>) -> (usize, usize) {
        let end_of = |id: RegionId| {
            let region = self.region(id);
            region.range.end.max(region.range.start + 1)
        };
        let first = self.sorted.partition_point(|(_, id)| end_of(*id) <= range.start);
        let last = self.sorted.partition_point(|(start, _)| *start < range.end);
        (first, last.max(first))
    }
}

/// The smallest range that contains both; an empty range contributes nothing.
fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}
