//! From an access that is wrong to the finding that says so. All of it is off the fast path.

use super::Checker;
use super::code::Code;
use super::finding::{Actor, Event, Finding, MemoryNote};
use super::granule::{Conflict, Relation};
use super::input::{Access, AccessKind, Verdict};
use super::memory::{RegionId, RegionKind};
use super::site::Site;

/// Addresses below this are null pointers with an offset.
const NULL_PAGE: usize = 4096;

impl Checker {
    /// The address is in no live region: says why.
    #[cold]
    pub(super) fn invalid(&mut self, actor: Actor, access: &Access) -> Verdict {
        let event = access.event(actor);
        let near = self.memory.find(access.address);
        let near = near.or_else(|| self.memory.nearest(access.address, self.options.red_zone));
        if access.address < NULL_PAGE {
            let message = format!("access through a null pointer, at address {:#x}", access.address);
            self.find(Code::NullPointer, Some(message), event, None, None);
        } else if let Some(id) = near {
            self.invalid_near(access, event, id);
        } else {
            let message = match actor {
                Actor::Host | Actor::Earlier => "host pointer where a device pointer is needed",
                Actor::Thread { .. } => "kernel uses a pointer that is no device memory",
            };
            let message = format!("{message}, address {:#x}", access.address);
            self.find(Code::HostPointer, Some(message), event, None, None);
        }
        Verdict::Fatal
    }

    fn invalid_near(&mut self, access: &Access, event: Event, id: RegionId) {
        let region = self.memory.region(id);
        let in_region = region.contains(&access.range());
        match region.kind {
            RegionKind::Global { freed: Some(site), .. } if in_region => {
                let free = Event { site, what: "freed".to_owned(), actor: Actor::Host, remark: String::new() };
                self.find(Code::UseAfterFree, None, event, Some(free), Some((access, id)));
            }
            RegionKind::ReadOnly if in_region => {
                let message = Some("constant data where a device pointer is needed".to_owned());
                self.find(Code::HostPointer, message, event, None, Some((access, id)));
            }
            _ => {
                let message = format!("{} of {} out of bounds", kind_name(access.kind), region.space_name());
                self.find(Code::OutOfBounds, Some(message), event, None, Some((access, id)));
            }
        }
    }

    #[cold]
    pub(super) fn misaligned(&mut self, thread: u32, access: &Access, id: RegionId) -> Verdict {
        let message = format!(
            "{} of {} bytes at address {:#x}, which is no multiple of {}",
            kind_name(access.kind),
            access.size,
            access.address,
            access.alignment
        );
        let event = access.event(self.launch.actor(thread));
        self.find(Code::Misaligned, Some(message), event, None, Some((access, id)));
        Verdict::Fatal
    }

    #[cold]
    pub(super) fn write_to_readonly(&mut self, thread: u32, access: &Access, id: RegionId) -> Verdict {
        let event = access.event(self.launch.actor(thread));
        self.find(Code::WriteToReadOnly, None, event, None, Some((access, id)));
        Verdict::Fatal
    }

    #[cold]
    pub(super) fn device_pointer_on_host(&mut self, access: &Access, id: RegionId) -> Verdict {
        self.find(Code::DevicePointer, None, access.event(Actor::Host), None, Some((access, id)));
        Verdict::Fatal
    }

    #[cold]
    pub(super) fn uninitialised(&mut self, thread: u32, access: &Access, id: RegionId) {
        let event = access.event(self.launch.actor(thread));
        let is_shared = self.memory.region(id).is_shared();
        let code = if is_shared { Code::UninitialisedShared } else { Code::UninitialisedDevice };
        self.find(code, None, event, None, Some((access, id)));
    }

    /// Two accesses race. The earlier one is the primary event.
    #[cold]
    pub(super) fn race(&mut self, thread: u32, access: &Access, id: RegionId, conflict: Conflict) {
        let region = self.memory.region(id);
        let reads = access.kind.is_read() || conflict.kind.is_read();
        let (code, remark) = match conflict.relation {
            Relation::OtherStream if self.streams.is_host() => (Code::HostRace, "the host has not waited in between"),
            Relation::OtherStream => (Code::StreamRace, "no event and no waiting host in between"),
            Relation::ReadOnlyCache => (Code::ReadOnlyCache, "in the same launch"),
            Relation::OtherBlock if reads => (Code::BlockRead, "in the same launch"),
            Relation::OtherBlock => (Code::BlockRace, "in the same launch"),
            Relation::SameBlock | Relation::SameWarp if region.is_shared() => {
                (Code::SharedRace, no_order(conflict.relation))
            }
            Relation::SameBlock | Relation::SameWarp => (Code::DeviceRace, no_order(conflict.relation)),
        };
        let earlier = Event {
            site: self.sites.site(conflict.site),
            what: kind_name(conflict.kind).to_owned(),
            actor: match conflict.relation {
                // Which of them it was in another launch is not remembered.
                Relation::OtherStream => Actor::Earlier,
                Relation::SameWarp | Relation::SameBlock | Relation::OtherBlock | Relation::ReadOnlyCache => {
                    self.launch.actor_at(conflict.segment, conflict.thread)
                }
            },
            remark: if conflict.site_is_exact { String::new() } else { SITE_OF_WARP.to_owned() },
        };
        let later = Event {
            site: access.site,
            what: kind_name(access.kind).to_owned(),
            actor: self.launch.actor(thread),
            remark: remark.to_owned(),
        };
        let stores = access.kind == AccessKind::Write && conflict.kind == AccessKind::Write;
        if stores && conflict.relation != Relation::OtherStream {
            self.stores_race(code, (earlier, later), access, id);
        } else {
            self.find(code, None, earlier, Some(later), Some((access, id)));
        }
    }

    /// Frees a region, or says why it cannot be.
    pub(super) fn free_region(&mut self, base: usize, site: Site) -> Verdict {
        let event = Event { site, what: "freed".to_owned(), actor: Actor::Host, remark: String::new() };
        let access = Access { address: base, size: 0, kind: AccessKind::Write, alignment: 1, site };
        let Some(id) = self.memory.find_start(base).or_else(|| self.memory.find(base)) else {
            self.find(Code::InvalidFree, None, event, None, None);
            return Verdict::Fatal;
        };
        let region = self.memory.region(id);
        match region.kind {
            RegionKind::Global { freed: Some(earlier), .. } => {
                let first = Event { site: earlier, what: "first freed".to_owned(), ..event.clone() };
                self.find(Code::DoubleFree, None, event, Some(first), Some((&access, id)));
                Verdict::Fatal
            }
            RegionKind::Global { freed: None, .. } if region.range.start == base && region.name.is_none() => {
                self.memory.mark_freed(id, site);
                Verdict::Continue
            }
            _ => {
                self.find(Code::InvalidFree, None, event, None, Some((&access, id)));
                Verdict::Fatal
            }
        }
    }

    /// Records a finding unless it is known at these sites.
    pub(super) fn find(
        &mut self,
        code: Code,
        message: Option<String>,
        primary: Event,
        secondary: Option<Event>,
        memory: Option<(&Access, RegionId)>,
    ) {
        if !self.findings.is_new(code, primary.site, secondary.as_ref().map(|event| event.site)) {
            return;
        }
        let memory = memory.map(|(access, id)| self.memory_note(access, id));
        let message = message.unwrap_or_else(|| code.entry().title.to_owned());
        let launch = self.launch.info();
        self.findings.push(Finding { code, message, primary, secondary, memory, launch, count: 1 });
    }

    fn memory_note(&self, access: &Access, id: RegionId) -> MemoryNote {
        let region = self.memory.region(id);
        let start = access.address.wrapping_sub(region.range.start) as i64;
        MemoryNote {
            name: region.name.clone(),
            space: region.space_name(),
            bytes: start..start + access.size as i64,
            size: region.range.len(),
            allocated: region.allocated,
        }
    }
}

/// The remark on a recorded access whose line is that of another lane.
const SITE_OF_WARP: &str = "or by another line of this warp that accesses the same element";

fn no_order(relation: Relation) -> &'static str {
    match relation {
        Relation::SameWarp => "no barrier and no __syncwarp in between",
        Relation::SameBlock | Relation::OtherBlock | Relation::OtherStream | Relation::ReadOnlyCache => {
            "no barrier in between"
        }
    }
}

fn kind_name(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::Atomic => "atomic",
        AccessKind::CachedRead => "read through the read-only cache",
    }
}

impl Access {
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.address..self.address.saturating_add(self.size)
    }

    pub(super) fn event(&self, actor: Actor) -> Event {
        let what = format!("{} of {} bytes", kind_name(self.kind), self.size);
        Event { site: self.site, what, actor, remark: String::new() }
    }
}
