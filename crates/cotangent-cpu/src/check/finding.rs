//! Findings as data, and the list of those found so far.
//!
//! A loop over a million elements with one wrong index is one finding that occurred a million times: findings
//! with the same code and the same pair of sites are counted, not repeated. The caller asks
//! [`Findings::is_new`] before it builds the texts of a finding.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::code::{Code, Severity};
use super::site::Site;

/// Something wrong, or worth noting, in the user's program.
#[derive(Clone, Debug)]
pub struct Finding {
    pub code: Code,
    /// What is wrong in one line, without the place.
    pub message: String,
    /// What happened that showed it.
    pub primary: Event,
    /// The other half: the other access of a race, the earlier free.
    pub secondary: Option<Event>,
    /// The memory concerned.
    pub memory: Option<MemoryNote>,
    /// The launch in which it happened; `None` on the host.
    pub launch: Option<Arc<LaunchInfo>>,
    /// How often it occurred at these sites.
    pub count: u64,
}

/// One thing that a thread or the host did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub site: Site,
    /// What was done, as in "write of 4 bytes" or "waits at `__syncthreads()`".
    pub what: String,
    pub actor: Actor,
    /// What is to be said after the actor, as in "no barrier in between"; may be empty.
    pub remark: String,
}

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    Host,
    Thread {
        block: [u32; 3],
        thread: [u32; 3],
    },
    /// A launch, copy or fill that was asked for before the present one.
    Earlier,
}

/// Which memory a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryNote {
    /// The name of a symbol; an allocation has none, the renderer reads it from the source line.
    pub name: Option<String>,
    /// "device memory", "shared memory" and so on.
    pub space: &'static str,
    /// The bytes accessed relative to the start of the memory; negative before it.
    pub bytes: Range<i64>,
    /// Size of the memory in bytes.
    pub size: usize,
    /// Where it was allocated.
    pub allocated: Site,
}

/// The launch in which a finding occurred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchInfo {
    pub kernel: String,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub site: Site,
}

/// The findings of a run.
#[derive(Debug)]
pub struct Findings {
    list: Vec<Finding>,
    /// Where in the list, or `None` if the list was full.
    known: HashMap<Key, Option<usize>>,
    limit: usize,
    beyond_limit: u64,
    beyond_limit_errors: u64,
}

/// Findings with equal keys are the same finding. The pair is sorted: which of two racing accesses comes first
/// is an accident of the order of threads.
type Key = (Code, Site, Site);

impl Findings {
    pub(super) fn new(limit: usize) -> Findings {
        Findings { list: Vec::new(), known: HashMap::new(), limit, beyond_limit: 0, beyond_limit_errors: 0 }
    }

    /// The distinct findings in the order of their first occurrence, at most [`super::Options::max_findings`].
    pub fn list(&self) -> &[Finding] {
        &self.list
    }

    /// The number of distinct findings that were not kept because the list was full.
    pub fn beyond_limit(&self) -> u64 {
        self.beyond_limit
    }

    /// The number of distinct errors, those beyond the limit included. Zero means that the run was clean, notes
    /// aside.
    pub fn error_count(&self) -> u64 {
        let kept = self.list.iter().filter(|finding| finding.code.entry().severity == Severity::Error);
        kept.count() as u64 + self.beyond_limit_errors
    }

    /// Counts an occurrence. True if it is the first at these sites and there is room: the caller then builds
    /// the finding and calls [`Findings::push`].
    pub(super) fn is_new(&mut self, code: Code, primary: Site, secondary: Option<Site>) -> bool {
        match self.known.get(&key(code, primary, secondary)) {
            Some(Some(index)) => self.list[*index].count += 1,
            Some(None) => {}
            None if self.list.len() < self.limit => return true,
            None => {
                self.known.insert(key(code, primary, secondary), None);
                self.beyond_limit += 1;
                self.beyond_limit_errors += u64::from(code.entry().severity == Severity::Error);
            }
        }
        false
    }

    pub(super) fn push(&mut self, finding: Finding) {
        let secondary = finding.secondary.as_ref().map(|event| event.site);
        self.known.insert(key(finding.code, finding.primary.site, secondary), Some(self.list.len()));
        self.list.push(finding);
    }
}

fn key(code: Code, primary: Site, secondary: Option<Site>) -> Key {
    let secondary = secondary.unwrap_or(Site::Unknown);
    (code, primary.min(secondary), primary.max(secondary))
}
