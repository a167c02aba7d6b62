//! Numbers for the sites of a run, and what is remembered about each instruction.

use std::collections::HashMap;

use super::memory::RegionId;
use super::site::{Site, SiteId};

/// What is remembered about an instruction that accesses memory: its number, and the region it touched last,
/// because an instruction mostly stays in one array.
#[derive(Clone, Copy)]
pub(super) struct SiteMemo {
    key: u64,
    pub(super) id: SiteId,
    pub(super) region: RegionId,
}

/// Numbers for sites, with a direct-mapped cache in front of the map.
pub(super) struct SiteTable {
    sites: Vec<Site>,
    ids: HashMap<Site, SiteId>,
    cache: Box<[SiteMemo]>,
}

/// Number of entries of the cache; a power of two. A kernel rarely has more instructions that access memory.
const CACHE_ENTRIES: usize = 1024;

impl SiteTable {
    pub(super) fn new() -> SiteTable {
        let empty = SiteMemo { key: key(Site::Unknown), id: SiteId(0), region: RegionId::NONE };
        SiteTable {
            sites: vec![Site::Unknown],
            ids: HashMap::from([(Site::Unknown, SiteId(0))]),
            cache: vec![empty; CACHE_ENTRIES].into_boxed_slice(),
        }
    }

    /// The memo of a site, created when it is new. The caller may store the region of the present access in it.
    #[inline]
    pub(super) fn memo(&mut self, site: Site) -> &mut SiteMemo {
        let key = key(site);
        let slot = cache_slot(key);
        if self.cache[slot].key != key {
            self.cache[slot] = SiteMemo { key, id: self.intern(site), region: RegionId::NONE };
        }
        &mut self.cache[slot]
    }

    pub(super) fn site(&self, id: SiteId) -> Site {
        self.sites[id.0 as usize]
    }

    #[cold]
    fn intern(&mut self, site: Site) -> SiteId {
        let next = SiteId(u32::try_from(self.sites.len()).expect("fewer than 2^32 sites"));
        let id = *self.ids.entry(site).or_insert(next);
        if id == next {
            self.sites.push(site);
        }
        id
    }
}

/// A number for each site: code addresses have their upper bit clear, lines have it set and never are all ones.
#[inline]
fn key(site: Site) -> u64 {
    match site {
        Site::Unknown => u64::MAX,
        Site::Address(address) => address as u64,
        Site::Line { file, line } => 1 << 63 | u64::from(file.0) << 32 | u64::from(line),
    }
}

#[inline]
fn cache_slot(key: u64) -> usize {
    // Multiplying by a large odd number spreads neighbouring addresses over the upper bits.
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (CACHE_ENTRIES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_keeps_its_number_when_its_cache_entry_is_taken() {
        let mut table = SiteTable::new();
        let ids: Vec<SiteId> = (0..5000).map(|address| table.memo(Site::Address(address)).id).collect();
        for (address, id) in ids.iter().enumerate() {
            assert_eq!(table.memo(Site::Address(address)).id, *id);
            assert_eq!(table.site(*id), Site::Address(address));
        }
    }
}
