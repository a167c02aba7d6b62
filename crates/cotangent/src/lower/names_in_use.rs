//! Keeps locals from hiding what a function calls.
//!
//! In C++ a local `max` hides the function `max` from there on. Names of locals may have moved outwards when blocks
//! were flattened, so a local that has the name of something the function uses gets another one.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::names::first_free;
use crate::index::IdVec;
use crate::ir::walk::{self, Node};
use crate::ir::{Block, ExprKind, Local, LocalId, Module, Name, PlaceKind, StmtKind, Unread};
use crate::rules::{Intrinsic, intrinsic_spelling};

/// Renames the locals that have the name of a function or variable that the statements use.
pub(super) fn keep_clear(locals: &mut IdVec<LocalId, Local>, block: &Block, module: &Module) {
    let used = names_used(block, module);
    let names: HashSet<Name> = locals.iter().map(|local| local.name.clone()).collect();
    for local in locals.iter_mut() {
        if used.contains(&local.name) {
            local.name = first_free(&local.name, |name| used.contains(name) || names.contains(name));
        }
    }
}

fn names_used(block: &Block, module: &Module) -> HashSet<Name> {
    let mut used = HashSet::new();
    let _ = walk::visit_block(block, &mut |node| {
        if let Node::Stmt(stmt) = node
            && let Some(intrinsic) = intrinsic_of(&stmt.kind)
        {
            used.insert(intrinsic_spelling(intrinsic).into());
        }
        let name = match node {
            Node::Stmt(stmt) => match &stmt.kind {
                StmtKind::Call { function, .. } => Some(&module.functions[*function].name),
                StmtKind::Launch(launch) => Some(&module.functions[launch.kernel].name),
                StmtKind::Opaque { code: Unread::Call(callee), .. } | StmtKind::Runtime { call: callee, .. } => {
                    Some(callee)
                }
                StmtKind::Opaque { code: Unread::Passed | Unread::Body { .. }, .. }
                | StmtKind::Declare { .. }
                | StmtKind::Assign { .. }
                | StmtKind::Accumulate { .. }
                | StmtKind::If { .. }
                | StmtKind::For(_)
                | StmtKind::While { .. }
                | StmtKind::Switch { .. }
                | StmtKind::Break
                | StmtKind::Continue
                | StmtKind::Return(_)
                | StmtKind::Barrier { .. }
                | StmtKind::Atomic { .. }
                | StmtKind::Collective { .. }
                | StmtKind::Push { .. }
                | StmtKind::Pop { .. } => None,
            },
            Node::Expr(expr) => {
                if let ExprKind::Math(name, _) = &expr.kind {
                    Some(name)
                } else {
                    None
                }
            }
            Node::Place(place) => {
                if let PlaceKind::Global(global) = place.kind {
                    Some(&module.globals[global].name)
                } else {
                    None
                }
            }
        };
        used.extend(name.map(|name| Name::from(name.rsplit("::").next().unwrap_or(name))));
        ControlFlow::<()>::Continue(())
    });
    used
}

/// The device function that a statement is printed as.
fn intrinsic_of(kind: &StmtKind) -> Option<Intrinsic> {
    match kind {
        StmtKind::Barrier { kind, .. } => Some(Intrinsic::Barrier(*kind)),
        StmtKind::Atomic { op, scope, .. } => Some(Intrinsic::Atomic(*op, *scope)),
        StmtKind::Collective { op, .. } => Some(Intrinsic::Collective(*op)),
        StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => None,
    }
}
