//! What the lanes of a tape share: the budget, the folders to spill to, and how a lane that needs a slab finds the one
//! that has the most.

use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError, Weak};

use super::blocks::Blocks;
use crate::disk::{Buffers, OpenEngine};
use crate::error::Error;
use crate::pool::Pool;
use crate::sanitizer;

/// Asked when no folder has room: whether to try again.
#[derive(Clone)]
pub struct OnFull(Arc<dyn Fn(&Path) -> bool + Send + Sync>);

impl OnFull {
    /// `ask` may free room, or wait until somebody has, and then says yes; with no, the lane has the error. It runs on the thread that
    /// pushes or pops, and must not use the lane.
    pub fn new(ask: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }
}

impl fmt::Debug for OnFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFull")
    }
}

/// Of a tape, for its lanes.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    /// In the order in which they are used.
    pub(crate) folders: Vec<Folder>,
    pub(crate) on_full: Option<OnFull>,
    /// If blocks are to be compressed.
    pub(crate) buffers: Option<Arc<Buffers>>,
    members: Mutex<Vec<Weak<Member>>>,
    /// The locks in a forked child may be shut for ever.
    process: u32,
}

/// A folder to spill to.
pub(crate) struct Folder {
    pub(crate) open: OpenEngine,
    pub(crate) path: PathBuf,
    /// For messages in C.
    pub(crate) name: CString,
    /// Of whoever reserves room: an attempt that fails may have had the last of it for a moment, and another lane must not take that for
    /// a full disk.
    pub(crate) room: Mutex<()>,
}

/// The blocks of one lane. The lane itself has the lock once a slab; other lanes, when the budget is used up.
pub(crate) struct Member {
    blocks: Mutex<Blocks>,
    /// How many slabs they are, for who looks for some.
    slabs: AtomicUsize,
    process: u32,
}

impl Shared {
    pub(crate) fn new(
        pool: Pool,
        folders: Vec<Folder>,
        on_full: Option<OnFull>,
        buffers: Option<Arc<Buffers>>,
    ) -> Self {
        Self { pool, folders, on_full, buffers, members: Mutex::default(), process: std::process::id() }
    }

    /// Whether there is a folder to spill to.
    pub(crate) fn spills(&self) -> bool {
        !self.folders.is_empty()
    }

    /// Whether to go on after all folders were found full.
    pub(super) fn may_try_again(&self) -> bool {
        let ask = self.on_full.as_ref().zip(self.folders.first());
        ask.is_some_and(|(ask, folder)| (ask.0)(&folder.path))
    }

    /// Makes a lane known to the others.
    pub(super) fn join(&self, blocks: Blocks) -> Arc<Member> {
        let process = std::process::id();
        let member = Arc::new(Member { blocks: Mutex::new(blocks), slabs: AtomicUsize::new(0), process });
        // A forked child goes to the system for slabs, and to no other lane.
        if self.process == process {
            let mut members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
            members.retain(|member| member.strong_count() > 0);
            members.push(Arc::downgrade(&member));
        }
        member
    }

    /// All lanes, the one with the most slabs first. `own` is before those that have up to twice as many, so that lanes
    /// with equal shares leave each other alone.
    pub(super) fn richest_first(&self, own: &Arc<Member>) -> Vec<Arc<Member>> {
        let members = self.members.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<Member>> = members.iter().filter_map(Weak::upgrade).collect();
        drop(members);
        all.sort_by_cached_key(|member| {
            let slabs = member.slabs.load(Ordering::Relaxed);
            std::cmp::Reverse(if Arc::ptr_eq(member, own) { 2 * slabs } else { slabs })
        });
        all
    }
}

impl Member {
    /// Runs `action` on the blocks. In a forked child they may be another thread's for ever.
    pub(super) fn locked<R>(&self, action: impl FnOnce(&mut Blocks) -> Result<R, Error>) -> Result<R, Error> {
        let mut blocks = self.lock().ok_or(Error::Forked)?;
        sanitizer::received(self);
        let result = action(&mut blocks);
        self.slabs.store(blocks.slabs(), Ordering::Relaxed);
        sanitizer::given(self);
        result
    }

    fn lock(&self) -> Option<MutexGuard<'_, Blocks>> {
        if self.process == std::process::id() {
            return Some(self.blocks.lock().unwrap_or_else(PoisonError::into_inner));
        }
        match self.blocks.try_lock() {
            Ok(blocks) => Some(blocks),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // Whoever is the last, the count that tells so is an order that the sanitizer does not see.
        sanitizer::received(self);
    }
}
