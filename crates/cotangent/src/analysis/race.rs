//! Which adjoint updates may meet those of other threads.
//!
//! Unknown means that they may. The theorems by which they do not are functions of their own, in `private`, `owned`
//! and `injective` below; docs/design/accumulation.md has them together.

use std::collections::{BTreeMap, BTreeSet};

use super::affine::Values;
use super::evidence::evidence;
use super::locals::locals;
use super::location::Step;
use super::ordering::{Ordering, asks_for_thread, is_without_jumps, ordering};
use super::owner::{Fact, facts, is_owned};
use super::region::Frame;
use super::root::{Root, Roots};
use super::site::{Site, Sites, sites};
use super::threads::{Threads, is_injective};
use crate::ir::{FunctionId, LocalId, Module, Place, Scope, Space, Stmt, StmtKind, Storage, walk};

/// An adjoint parameter of a derivative, and whose adjoint it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdjointParam {
    /// The adjoint.
    pub adjoint: LocalId,
    /// The parameter whose adjoint it is.
    pub primal: LocalId,
    /// Whether other threads may hold the same pointer.
    pub is_shared: bool,
    /// Whether it, or what lies behind it, may be the thread's own memory as well: the caller is not known.
    pub is_anywhere: bool,
    /// Whether kernels of other streams may add to it at the same time.
    pub is_contended: bool,
}

/// How an adjoint may be added to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addition {
    /// No other thread adds there at the same time.
    Plain,
    /// Another thread may.
    Atomic(Sharing, Scope),
}

/// Why an addition is atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// It is not known which memory is meant.
    UnknownMemory,
    /// No proof was found that threads add to different elements.
    SomeThreads,
    /// Kernels of other streams may add at the same time.
    OtherStreams,
}

/// Decides for each `Accumulate` of a function, in the order of the text.
pub fn additions(module: &Module, id: FunctionId, adjoints: &[AdjointParam]) -> Vec<Addition> {
    let function = &module.functions[id];
    let locals = locals(function);
    let mut roots = Roots::new(module, function, &locals);
    // Behind dynamic shared memory lie its adjoints, which no pointer of the primal leads to.
    let is_behind = |param: &&AdjointParam| {
        let is_shared = |local: LocalId| function.locals[local].storage != Storage::Private;
        is_shared(param.primal) && !is_shared(param.adjoint)
    };
    roots.apart = adjoints.iter().filter(is_behind).map(|param| param.adjoint).collect();
    let values = Values::new(module, function, &locals, &roots, written(&roots, &function.body));
    let mut sites = sites(&values, function);
    let evidence = evidence(&values, adjoints);
    sites.stores.retain(|store| evidence.contains(&std::ptr::from_ref(store.stmt)));
    if asks_for_thread(module, id) {
        // They contradict the premise.
        sites.stores.retain(|store| !values.is_same_for_two_threads(store));
    }
    let facts = match (function.space, ordering(module, id)) {
        (Space::Kernel, order @ (Ordering::None | Ordering::Barriers)) if is_without_jumps(function) => {
            facts(&values, &sites, order == Ordering::Barriers)
        }
        (Space::Kernel | Space::Device | Space::Host, _) => Vec::new(),
    };
    let groups = groups(&sites);
    let given_away = given_away(&values);
    let is_plain = |group: &&Group<'_, '_>| {
        // What is proven is proven of the threads of this kernel.
        is_private(group.root, adjoints)
            || !is_contended(group.root, adjoints) && is_plain(&values, group, &groups, &sites, &facts, &given_away)
    };
    let plain: BTreeSet<(Root, usize)> =
        groups.iter().filter(is_plain).map(|group| (group.root, group.phase)).collect();
    let addition = |site: &Site<'_>| {
        let is_kept =
            |root: &Root| phases(*root, site, &sites).into_iter().all(|phase| plain.contains(&(*root, phase)));
        let is_own = || !given_away.contains(&Root::Unknown) && is_stored_there(&values, site, &sites, &given_away);
        if function.space == Space::Host || site.roots.iter().all(is_kept) || is_own() {
            Addition::Plain
        } else {
            let is_own_too = site.roots.iter().any(|root| may_be_own(*root, adjoints));
            let scope = if is_own_too { Scope::Anywhere } else { Scope::Device };
            Addition::Atomic(sharing(site, adjoints), scope)
        }
    };
    sites.additions.iter().map(addition).collect()
}

/// Why an addition is not known to be the only one.
fn sharing(site: &Site<'_>, adjoints: &[AdjointParam]) -> Sharing {
    if site.roots.contains(&Root::Unknown) {
        Sharing::UnknownMemory
    } else if site.roots.iter().any(|root| is_contended(*root, adjoints)) {
        Sharing::OtherStreams
    } else {
        Sharing::SomeThreads
    }
}

/// The plain stores of a kernel that all threads of a block make to one element, and the places: a race of the primal if
/// a block has more than one thread, and an adjoint that would be counted once a thread.
///
/// A kernel that never asks which thread of its block it is may be meant for blocks of one thread.
pub fn stores_of_whole_blocks(module: &Module, id: FunctionId) -> Vec<(&Stmt, &Place)> {
    let function = &module.functions[id];
    if function.space != Space::Kernel || !is_without_jumps(function) || !asks_for_thread(module, id) {
        return Vec::new();
    }
    let locals = locals(function);
    let roots = Roots::new(module, function, &locals);
    let values = Values::new(module, function, &locals, &roots, written(&roots, &function.body));
    let stores = sites(&values, function).stores.into_iter().filter(|site| values.is_same_for_two_threads(site));
    stores.map(|site| (site.stmt, site.place)).collect()
}

/// The additions to some memory that threads may make at the same time.
struct Group<'s, 'f> {
    root: Root,
    phase: usize,
    sites: Vec<&'s Site<'f>>,
}

/// All additions, by what they may be to. Those to shared memory with a barrier between them do not meet.
fn groups<'s, 'f>(sites: &'s Sites<'f>) -> Vec<Group<'s, 'f>> {
    let mut found: BTreeMap<(Root, usize), Vec<&Site<'_>>> = BTreeMap::new();
    for site in &sites.additions {
        for root in &site.roots {
            for phase in phases(*root, site, sites) {
                found.entry((*root, phase)).or_default().push(site);
            }
        }
    }
    found.into_iter().map(|((root, phase), sites)| Group { root, phase, sites }).collect()
}

/// The times at which memory is added to: barriers order the threads of a block.
fn phases(root: Root, site: &Site<'_>, sites: &Sites<'_>) -> Vec<usize> {
    match root {
        Root::Shared(_) => sites.starts(site.phase),
        Root::Private(_) | Root::Param(_) | Root::Behind(_) | Root::Global(_) | Root::Unknown => vec![0],
    }
}

/// Whether all additions of a group to memory of several threads are plain.
fn is_plain(
    values: &Values<'_>,
    group: &Group<'_, '_>,
    groups: &[Group<'_, '_>],
    all: &Sites<'_>,
    facts: &[Fact],
    given_away: &BTreeSet<Root>,
) -> bool {
    let is_anywhere = groups.iter().any(|group| group.root == Root::Unknown) || given_away.contains(&Root::Unknown);
    if values.function.space != Space::Kernel
        || is_anywhere
        || given_away.contains(&group.root)
        || !is_one_array(values, group, groups)
    {
        return false;
    }
    let open = |site: &&&Site<'_>| !is_stored_there(values, site, all, given_away);
    let sites: Vec<&Site<'_>> = group.sites.iter().filter(open).copied().collect();
    let threads = Threads::of(group.root);
    values.with_settled(counters_in_step(group), || {
        sites.is_empty() || is_owned(values, &sites, facts, threads) || is_injective(values, &sites, threads)
    })
}

/// *In step.* If all threads of a block meet in each iteration of a loop, they are in the same iteration between two
/// meetings, and its counter is one number. Where additions stand on both sides of a barrier of the loop, they may be
/// made in two iterations at once.
fn counters_in_step(group: &Group<'_, '_>) -> Vec<LocalId> {
    let Root::Shared(_) = group.root else { return Vec::new() };
    let is_one_stretch = |counter: &LocalId| {
        let around = |site: &&&Site<'_>| site.frames.iter().any(|frame| frame.counter_in_step() == Some(*counter));
        let mut phases = group.sites.iter().filter(around).map(|site| site.phase);
        let first = phases.next();
        phases.all(|phase| Some(phase) == first)
    };
    let mut counters: Vec<LocalId> =
        group.sites.iter().flat_map(|site| site.frames.iter().filter_map(Frame::counter_in_step)).collect();
    counters.retain(is_one_stretch);
    counters
}

/// *The writer's element.* An element of shared memory that a thread stores to plainly is touched by no other thread
/// until the next barrier, of the block or of its warp. Where an adjoint is cleared, the primal stores; what the thread adds
/// to that element between the same barriers meets no other addition.
fn is_stored_there(values: &Values<'_>, site: &Site<'_>, sites: &Sites<'_>, given_away: &BTreeSet<Root>) -> bool {
    let Some(location) = site.location.as_ref().filter(|it| matches!(it.root, Root::Shared(_))) else { return false };
    let is_same = |store: &Site<'_>| {
        store.moment == site.moment
            && store.location.as_ref().is_some_and(|stored| {
                let counters = values.reached_with(&store.frames, &site.frames);
                let index = counters.and_then(|counters| values.renamed(&stored.index, &counters));
                stored.root == location.root
                    && stored.tail == location.tail
                    && !stored.tail.contains(&Step::Somewhere)
                    && index.as_ref() == Some(&location.index)
            })
    };
    values.function.space == Space::Kernel
        && is_without_jumps(values.function)
        && site.roots.len() == 1
        && !given_away.contains(&location.root)
        && sites.stores.iter().any(is_same)
}

/// *Private memory.* No other thread knows where a thread's own variables are, or holds a pointer that is not shared.
fn is_private(root: Root, adjoints: &[AdjointParam]) -> bool {
    match root {
        Root::Private(_) => true,
        Root::Param(param) => adjoints.iter().any(|adjoint| adjoint.adjoint == param && !adjoint.is_shared),
        Root::Behind(_) | Root::Shared(_) | Root::Global(_) | Root::Unknown => false,
    }
}

/// Whether memory that threads may share may be the thread's own instead.
fn may_be_own(root: Root, adjoints: &[AdjointParam]) -> bool {
    match root {
        Root::Param(param) | Root::Behind(param) => {
            adjoints.iter().any(|adjoint| adjoint.adjoint == param && adjoint.is_anywhere)
        }
        Root::Unknown => adjoints.iter().any(|adjoint| adjoint.is_anywhere),
        Root::Private(_) => true,
        Root::Shared(_) | Root::Global(_) => false,
    }
}

fn is_contended(root: Root, adjoints: &[AdjointParam]) -> bool {
    match root {
        Root::Param(param) | Root::Behind(param) => {
            adjoints.iter().any(|adjoint| adjoint.adjoint == param && adjoint.is_contended)
        }
        Root::Private(_) | Root::Shared(_) | Root::Global(_) | Root::Unknown => false,
    }
}

/// Whether all additions to some memory are to one array at known indices, and nothing else there can be the same
/// memory: of several arrays behind one parameter, or of several pieces of dynamic shared memory, that is not known.
fn is_one_array(values: &Values<'_>, group: &Group<'_, '_>, groups: &[Group<'_, '_>]) -> bool {
    let is_dynamic = |root: &Root| matches!(root, Root::Shared(local) if values.function.locals[*local].storage == Storage::DynamicShared);
    let roots: BTreeSet<Root> = groups.iter().map(|group| group.root).filter(is_dynamic).collect();
    let is_alone = !is_dynamic(&group.root) || roots.len() == 1;
    let path = group.sites.first().and_then(|site| Some(site.location.as_ref()?.path.clone()));
    let is_known = |site: &&Site<'_>| site.location.as_ref().is_some_and(|found| Some(&found.path) == path.as_ref());
    is_alone && group.sites.iter().all(is_known)
}

/// Memory that the function may write.
pub fn written(roots: &Roots<'_>, body: &[Stmt]) -> Vec<Root> {
    let mut written = BTreeSet::new();
    walk::each_stmt(body, &mut |stmt| {
        walk::written_places(stmt).into_iter().for_each(|place| written.extend(roots.place(place)));
        written.extend(roots.written_by_call(stmt));
    });
    written.into_iter().collect()
}

/// Memory that called functions, or atomics of the primal, may add to.
fn given_away(values: &Values<'_>) -> BTreeSet<Root> {
    let mut given = BTreeSet::new();
    walk::each_stmt(&values.function.body, &mut |stmt| {
        if let StmtKind::Atomic { place, .. } = &stmt.kind {
            given.extend(values.roots.place(place));
        }
        given.extend(values.roots.written_by_call(stmt));
    });
    given
}
