//! A reverse iteration that runs right after its forward iteration need not compute again what that has just computed.
//!
//! Where the sweeps of a loop are apart, a reverse iteration begins by computing again, in copies, what the variables held at
//! the end of its forward iteration. Right after that iteration the variables themselves still hold it.

use std::collections::{BTreeSet, HashMap};

use super::locals::rename;
use crate::ir::walk::{self, own_variable};
use crate::ir::{Block, LocalId, Stmt, StmtKind, Type};

/// Takes out of a reverse iteration, which now follows its forward iteration, what that has computed. `copies` says which
/// variable each copy stands for.
pub(super) fn drop_again(forward: &[Stmt], reverse: &mut Block, copies: &HashMap<LocalId, LocalId>) {
    let origin = |local: LocalId| copies.get(&local).copied().unwrap_or(local);
    let held: HashMap<LocalId, LocalId> =
        forward.iter().filter_map(begun).map(|local| (origin(local), local)).collect();
    let is_copy = |local: &LocalId| copies.contains_key(local);
    let [given, given_again] = [forward, reverse].map(writes);
    let mut map: HashMap<LocalId, LocalId> = reverse
        .iter()
        .filter_map(begun)
        .filter(is_copy)
        .filter_map(|copy| Some((copy, *held.get(&origin(copy))?)))
        // What a copy is given last may have been dropped, as nobody reads it: then it holds an earlier value.
        .filter(|(copy, held)| given_again.get(copy) == given.get(held))
        .collect();
    // A statement goes as a whole, or stays with all that it computes.
    loop {
        let before = map.len();
        for stmt in reverse.iter() {
            let written = written_variables(stmt);
            let is_taken = written.as_ref().is_some_and(|written| written.iter().all(|local| map.contains_key(local)));
            if !is_taken {
                written_outside(stmt).iter().for_each(|local| {
                    map.remove(local);
                });
            }
        }
        if map.len() == before {
            break;
        }
    }
    reverse.retain(|stmt| {
        let written = written_variables(stmt);
        !written.is_some_and(|written| !written.is_empty() && written.iter().all(|local| map.contains_key(local)))
    });
    rename(reverse, &map);
}

/// How many statements give each variable something.
fn writes(block: &[Stmt]) -> HashMap<LocalId, usize> {
    let mut counts = HashMap::new();
    walk::each_stmt(block, &mut |stmt| {
        for local in walk::written_places(stmt).into_iter().filter_map(own_variable) {
            *counts.entry(local).or_insert(0) += 1;
        }
    });
    counts
}

/// The variable that a statement of a block declares for the rest of the block.
fn begun(stmt: &Stmt) -> Option<LocalId> {
    if let StmtKind::Declare { local, .. } = stmt.kind { Some(local) } else { None }
}

/// The variables that a statement writes and does not declare inside, if it does nothing but compute them.
fn written_variables(stmt: &Stmt) -> Option<BTreeSet<LocalId>> {
    let mut only_computes = true;
    walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| match &inner.kind {
        StmtKind::Declare { .. } | StmtKind::If { .. } | StmtKind::For(_) | StmtKind::While { .. } => {}
        StmtKind::Assign { place, .. } => only_computes &= own_variable(place).is_some(),
        StmtKind::Call { into, args, .. } => {
            only_computes &= into.as_ref().is_none_or(|place| own_variable(place).is_some());
            only_computes &= into.is_some() && args.iter().all(|arg| !arg.ty.is_pointer() || is_read_only(&arg.ty));
        }
        StmtKind::Accumulate { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => only_computes = false,
    });
    only_computes.then(|| written_outside(stmt))
}

fn is_read_only(ty: &Type) -> bool {
    matches!(ty, Type::Pointer(pointer) if pointer.is_const)
}

/// The variables that a statement declares for its block, or writes and does not declare inside.
fn written_outside(stmt: &Stmt) -> BTreeSet<LocalId> {
    let mut inside = BTreeSet::new();
    walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| inside.extend(walk::declared_local(inner)));
    begun(stmt).iter().for_each(|local| {
        inside.remove(local);
    });
    let mut written: BTreeSet<LocalId> = begun(stmt).into_iter().collect();
    walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
        written.extend(walk::written_places(inner).into_iter().filter_map(own_variable));
    });
    &written - &inside
}
