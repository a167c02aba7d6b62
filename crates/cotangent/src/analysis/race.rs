//! Which adjoint updates may meet those of other threads.
//!
//! Unknown means that they may. The theorems by which they do not are functions of their own, in `private`, `owned`
//! and `injective` below; docs/design/accumulation.md has them together.

use std::collections::{BTreeMap, BTreeSet};

use super::affine::Values;
use super::locals::{locals, stored_places};
use super::ordering::{Ordering, asks_for_thread, is_without_jumps, ordering};
use super::owner::{Fact, facts, is_owned};
use super::root::{Root, Roots};
use super::site::{Site, Sites, sites};
use super::threads::{Threads, is_injective};
use crate::ir::{FunctionId, LocalId, Module, Place, Space, Stmt, StmtKind, Storage, Type, walk};

/// An adjoint parameter of a derivative, and whose adjoint it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdjointParam {
    /// The adjoint.
    pub adjoint: LocalId,
    /// The parameter whose adjoint it is.
    pub primal: LocalId,
    /// Whether other threads may hold the same pointer.
    pub is_shared: bool,
}

/// How an adjoint may be added to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Addition {
    /// No other thread adds there at the same time.
    Plain,
    /// Another thread may.
    Atomic(Sharing),
}

/// Why an addition is atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// It is not known which memory is meant.
    UnknownMemory,
    /// No proof was found that threads add to different elements.
    SomeThreads,
}

/// Decides for each `Accumulate` of a function, in the order of the text.
pub fn additions(module: &Module, id: FunctionId, adjoints: &[AdjointParam]) -> Vec<Addition> {
    let function = &module.functions[id];
    let locals = locals(function);
    let roots = Roots::new(module, function, &locals);
    let values = Values::new(module, function, &locals, &roots, written(&roots, &function.body));
    let mut sites = sites(&values, function);
    if asks_for_thread(module, id) {
        // They contradict the premise; a harmless one, of a flag, must not prove anything.
        sites.stores.retain(|store| !values.is_same_for_two_threads(store));
    }
    let facts = match (function.space, ordering(module, id)) {
        (Space::Kernel, order @ (Ordering::None | Ordering::Barriers)) if is_without_jumps(function) => {
            facts(&sites, adjoints, order == Ordering::Barriers)
        }
        (Space::Kernel | Space::Device | Space::Host, _) => Vec::new(),
    };
    let plain = plain_memory(&values, &sites, &facts, adjoints);
    let addition = |site: &Site<'_>| {
        if function.space == Space::Host || site.roots.iter().all(|root| plain.contains(root)) {
            Addition::Plain
        } else if site.roots.contains(&Root::Unknown) {
            Addition::Atomic(Sharing::UnknownMemory)
        } else {
            Addition::Atomic(Sharing::SomeThreads)
        }
    };
    sites.additions.iter().map(addition).collect()
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

/// The memory whose additions are all plain.
fn plain_memory(values: &Values<'_>, sites: &Sites<'_>, facts: &[Fact], adjoints: &[AdjointParam]) -> BTreeSet<Root> {
    let mut by_root: BTreeMap<Root, Vec<&Site<'_>>> = BTreeMap::new();
    for site in &sites.additions {
        site.roots.iter().for_each(|root| by_root.entry(*root).or_default().push(site));
    }
    let given_away = given_away(values);
    let is_anywhere = by_root.contains_key(&Root::Unknown) || given_away.contains(&Root::Unknown);
    let is_plain = |root: Root, sites: &[&Site<'_>]| {
        is_private(root, adjoints)
            || values.function.space == Space::Kernel
                && !is_anywhere
                && !given_away.contains(&root)
                && is_one_array(values, root, sites, &by_root)
                && (is_owned(values, sites, facts, Threads::of(root)) || is_injective(values, sites, Threads::of(root)))
    };
    by_root.iter().filter(|(root, sites)| is_plain(**root, sites)).map(|(root, _)| *root).collect()
}

/// *Private memory.* No other thread knows where a thread's own variables are, or holds a pointer that is not shared.
fn is_private(root: Root, adjoints: &[AdjointParam]) -> bool {
    match root {
        Root::Private(_) => true,
        Root::Param(param) => adjoints.iter().any(|adjoint| adjoint.adjoint == param && !adjoint.is_shared),
        Root::Behind(_) | Root::Shared(_) | Root::Global(_) | Root::Unknown => false,
    }
}

/// Whether all additions to some memory are to one array at known indices, and nothing else there can be the same
/// memory: of several arrays behind one parameter, or of several pieces of dynamic shared memory, that is not known.
fn is_one_array(
    values: &Values<'_>,
    root: Root,
    sites: &[&Site<'_>],
    by_root: &BTreeMap<Root, Vec<&Site<'_>>>,
) -> bool {
    let is_dynamic = |root: &Root| matches!(root, Root::Shared(local) if values.function.locals[*local].storage == Storage::DynamicShared);
    let is_alone = !is_dynamic(&root) || by_root.keys().filter(|root| is_dynamic(root)).count() == 1;
    let path = sites.first().and_then(|site| Some(site.location.as_ref()?.path.clone()));
    let is_known = |site: &&Site<'_>| site.location.as_ref().is_some_and(|found| Some(&found.path) == path.as_ref());
    is_alone && sites.iter().all(is_known)
}

/// Memory that the function may write.
fn written(roots: &Roots<'_>, body: &[Stmt]) -> Vec<Root> {
    let mut written = BTreeSet::new();
    walk::each_stmt(body, &mut |stmt| {
        stored_places(stmt).into_iter().for_each(|place| written.extend(roots.place(place)));
        add_arguments(roots, stmt, &mut written);
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
        add_arguments(values.roots, stmt, &mut given);
    });
    given
}

/// Adds what a called function may write. Through pointers that it finds in memory, that may be anything.
fn add_arguments(roots: &Roots<'_>, stmt: &Stmt, found: &mut BTreeSet<Root>) {
    let StmtKind::Call { args, .. } = &stmt.kind else { return };
    for arg in args {
        if let Type::Pointer(pointer) = &arg.ty {
            let has_pointers = roots.may_hold_pointer(&pointer.pointee);
            if !pointer.is_const {
                found.extend(roots.pointer(arg));
            }
            if has_pointers {
                found.insert(Root::Unknown);
            }
        } else if roots.may_hold_pointer(&arg.ty) {
            found.insert(Root::Unknown);
        }
    }
}
