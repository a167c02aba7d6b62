//! Shared arrays of which each thread stores to one element only, whatever it stores.
//!
//! *All of such an array is stored anew* by a store that every thread of a block runs: no other element has ever been stored to,
//! and none of the others may be read.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;

use crate::ir::same::same_expr;
use crate::ir::walk::{self, Node};
use crate::ir::{Builtin, Expr, ExprKind, Function, LocalId, PlaceKind, StmtKind, Type};

/// Whether all stores to an array have one index, which tells the thread, and nothing else writes it.
pub fn is_one_element_a_thread(function: &Function, array: LocalId) -> bool {
    let assigned = walk::assigned_locals(&function.body);
    let mut indices: Vec<&Expr> = Vec::new();
    let mut is_simple = true;
    walk::each_stmt(&function.body, &mut |stmt| {
        for place in walk::written_places(stmt) {
            if walk::own_variable(place) != Some(array) {
                continue;
            }
            match (&place.kind, &stmt.kind) {
                (PlaceKind::Index(base, index), StmtKind::Assign { .. }) if base.as_local() == Some(array) => {
                    indices.push(index);
                }
                (_, _) => is_simple = false,
            }
        }
    });
    // Every mention is one of an element.
    let (mut elements, mut mentions) = (0, 0);
    walk::each_place(&function.body, &mut |place| {
        mentions += usize::from(place.as_local() == Some(array));
        let is_element = matches!(&place.kind, PlaceKind::Index(base, _) if base.as_local() == Some(array));
        elements += usize::from(is_element);
    });
    walk::each_expr(&function.body, &mut |expr| {
        is_simple &= expr.as_address().and_then(walk::own_variable) != Some(array);
    });
    let [first, others @ ..] = indices.as_slice() else { return false };
    is_simple
        && elements == mentions
        && is_of_thread(function, first, &assigned)
        && others.iter().all(|other| same_expr(first, other))
}

/// Whether an index is the same whenever a thread computes it.
fn is_of_thread(function: &Function, index: &Expr, assigned: &HashSet<LocalId>) -> bool {
    let counters = counters(function);
    let is_fixed = |node: Node<'_>| match node {
        Node::Expr(expr) => match &expr.kind {
            ExprKind::Load(place) => place.as_local().is_some_and(|local| {
                !assigned.contains(&local) && !counters.contains(&local) && matches!(place.ty, Type::Int(_))
            }),
            ExprKind::Builtin(Builtin::ThreadIdx(_) | Builtin::BlockDim(_))
            | ExprKind::Int(_)
            | ExprKind::Cast(_)
            | ExprKind::Binary(..) => true,
            ExprKind::Bool(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Select(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        },
        Node::Place(_) | Node::Stmt(_) => true,
    };
    walk::visit_expr(index, &mut |node| {
        if is_fixed(node) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })
    .is_continue()
}

/// Variables that are declared anew, in a loop, or count one.
fn counters(function: &Function) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if stmt.kind.is_loop() {
            walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| found.extend(walk::declared_local(inner)));
        }
    });
    found
}
