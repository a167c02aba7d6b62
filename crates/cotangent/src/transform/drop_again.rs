//! A reverse iteration that runs right after its forward iteration need not compute again what that has just computed.
//!
//! Where the sweeps of a loop are apart, a reverse iteration begins by computing again, in copies, what the variables held at
//! the end of its forward iteration. Right after that iteration the variables themselves still hold it. What the reverse
//! iteration keeps of them before their last assignment is kept by the forward iteration instead.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::locals::rename;
use crate::ir::walk::{self, Node, own_variable};
use crate::ir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind, Type};

/// Takes out of a reverse iteration, which now follows its forward iteration, what that has computed. `copies` says which
/// variable each copy stands for.
pub(super) fn drop_again(forward: &mut Block, reverse: &mut Block, copies: &HashMap<LocalId, LocalId>) {
    let mut map = held_again(forward, reverse, copies);
    keep_earlier(forward, reverse, &map);
    let last = last_writes(reverse);
    // A statement goes as a whole, or stays with all that it computes. What stays and looks at a copy must find there what the
    // variable holds in the end, not what it held in between.
    loop {
        let before = map.len();
        for (at, stmt) in reverse.iter().enumerate() {
            let written = written_variables(stmt);
            let is_taken = written.as_ref().is_some_and(|written| written.iter().all(|local| map.contains_key(local)));
            if !is_taken {
                written_outside(stmt).iter().for_each(|local| {
                    map.remove(local);
                });
                mentioned(stmt).iter().filter(|local| last.get(local).is_some_and(|last| *last > at)).for_each(
                    |local| {
                        map.remove(local);
                    },
                );
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

/// The copies that are given as much as the variables which they stand for.
fn held_again(forward: &[Stmt], reverse: &[Stmt], copies: &HashMap<LocalId, LocalId>) -> HashMap<LocalId, LocalId> {
    let origin = |local: LocalId| copies.get(&local).copied().unwrap_or(local);
    let held: HashMap<LocalId, LocalId> =
        forward.iter().filter_map(begun).map(|local| (origin(local), local)).collect();
    let is_copy = |local: &LocalId| copies.contains_key(local);
    let [given, given_again] = [forward, reverse].map(writes);
    let mut pointed = BTreeSet::new();
    [forward, reverse].iter().for_each(|block| pointed_to(block, &mut pointed));
    reverse
        .iter()
        .filter_map(begun)
        .filter(is_copy)
        .filter_map(|copy| Some((copy, *held.get(&origin(copy))?)))
        // What a copy is given last may have been dropped, as nobody reads it: then it holds an earlier value.
        .filter(|(copy, held)| given_again.get(copy) == given.get(held))
        .filter(|(copy, held)| !pointed.contains(copy) && !pointed.contains(held))
        .collect()
}

/// The variables whose address is taken: what is stored through it is not seen here.
fn pointed_to(block: &[Stmt], found: &mut BTreeSet<LocalId>) {
    walk::each_expr(block, &mut |expr| {
        if let ExprKind::AddressOf(place) = &expr.kind {
            found.extend(own_variable(place));
        }
    });
}

/// Moves what is kept of copies that are given something else later to where the variables hold the same.
fn keep_earlier(forward: &mut Block, reverse: &mut Block, map: &HashMap<LocalId, LocalId>) {
    let (given, given_again) = (places_of_writes(forward), places_of_writes(reverse));
    let mut moved: Vec<(usize, usize)> = Vec::new();
    for (at, stmt) in reverse.iter().enumerate() {
        let StmtKind::Declare { local, init: Some(init) } = &stmt.kind else { continue };
        let is_of_variables = !walk::loads_any(init, &mut |place| own_variable(place).is_none());
        let read = mentioned_by(init);
        let is_kept = read.iter().any(|local| map.contains_key(local) && given_again[local].iter().any(|it| *it > at));
        if map.contains_key(local) || !is_of_variables || !is_kept {
            continue;
        }
        let stretch = |local: &LocalId| match map.get(local) {
            Some(held) => {
                let (given, again) = (given.get(held)?, given_again.get(local)?);
                let so_far = again.iter().take_while(|it| **it < at).count();
                (given.len() == again.len() && so_far > 0)
                    .then(|| (given[so_far - 1] + 1, given.get(so_far).copied().unwrap_or(usize::MAX)))
            }
            None => (!given.contains_key(local) && !given_again.contains_key(local)).then_some((0, usize::MAX)),
        };
        let stretches: Option<Vec<(usize, usize)>> = read.iter().map(stretch).collect();
        let Some(stretches) = stretches else { continue };
        let first = stretches.iter().map(|(first, _)| *first).max().unwrap_or(0);
        if stretches.iter().all(|(_, end)| first <= *end) {
            moved.push((at, first));
        }
    }
    let mut kept: Vec<(usize, Stmt)> = moved.iter().rev().map(|(at, to)| (*to, reverse.remove(*at))).collect();
    kept.sort_by_key(|(to, _)| *to);
    for (to, stmt) in kept.into_iter().rev() {
        let mut stmt = vec![stmt];
        rename(&mut stmt, map);
        forward.splice(to..to, stmt);
    }
}

/// The statements of a block that give each variable something.
fn places_of_writes(block: &[Stmt]) -> HashMap<LocalId, Vec<usize>> {
    let mut found: HashMap<LocalId, Vec<usize>> = HashMap::new();
    for (at, stmt) in block.iter().enumerate() {
        written_outside(stmt).into_iter().for_each(|local| found.entry(local).or_default().push(at));
    }
    found
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

/// The last statement of a block that gives each variable something.
fn last_writes(block: &[Stmt]) -> HashMap<LocalId, usize> {
    places_of_writes(block).into_iter().filter_map(|(local, places)| Some((local, *places.last()?))).collect()
}

/// The variables that a statement mentions.
fn mentioned(stmt: &Stmt) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    let _ = walk::visit_block(std::slice::from_ref(stmt), &mut |node| note_variable(node, &mut found));
    found
}

/// The variables that an expression mentions.
fn mentioned_by(expr: &Expr) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    let _ = walk::visit_expr(expr, &mut |node| note_variable(node, &mut found));
    found
}

fn note_variable(node: Node<'_>, found: &mut BTreeSet<LocalId>) -> ControlFlow<()> {
    if let Node::Place(place) = node {
        found.extend(place.as_local());
    }
    ControlFlow::Continue(())
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
