//! Which stores of a derivative show that an element belongs to the thread that stores.
//!
//! The premise is that no two threads store an active value to one element: both would take its adjoint, and the
//! derivative would count it twice. Of other stores nothing is known. Many threads may raise one flag, mark one element
//! as seen, or set it to the same constant, and neither values nor derivatives depend on how many do.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::activity::{Activity, activity};
use super::affine::Values;
use super::location::Location;
use super::objects::{Base, Object, Objects, objects};
use super::ordering::has_barrier;
use super::race::AdjointParam;
use crate::ir::walk::{self, Node, Part};
use crate::ir::{Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind};

/// The stores of active values to memory that has an adjoint, and the clearings of adjoints that go with such stores.
pub(super) fn evidence(values: &Values<'_>, adjoints: &[AdjointParam]) -> HashSet<*const Stmt> {
    let function = values.function;
    let params = adjoints.iter().map(|param| param.primal).filter(|primal| function.params.contains(primal));
    let named: Vec<LocalId> = params.collect();
    let objects = objects(values.module, function);
    let activity = activity(values.module, &objects, &function.body, &named);
    let has_adjoint = |place: &Place| {
        let is_primal = |local: LocalId| adjoints.iter().any(|param| param.primal == local);
        let found = objects.of_place(place);
        let has_adjoint = |object: &Object| matches!(object.base, Base::Local(local) if is_primal(local));
        !found.is_empty() && found.iter().all(has_adjoint)
    };
    let mut found = HashSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        let place = match &stmt.kind {
            StmtKind::Assign { place, .. } | StmtKind::Call { into: Some(place), .. } => place,
            _ => return,
        };
        if has_adjoint(place) && stores_active(&objects, &activity, stmt) {
            found.insert(std::ptr::from_ref(stmt));
        }
    });
    add_clearings(values, &function.body, &mut found);
    found
}

fn stores_active(objects: &Objects<'_>, activity: &Activity, stmt: &Stmt) -> bool {
    let is_active = |value: &Expr| {
        activity.is_varied_value(objects, value)
            || objects.reachable(value).iter().any(|object| activity.is_varied(object))
    };
    match &stmt.kind {
        StmtKind::Assign { value, .. } => activity.is_varied_value(objects, value),
        StmtKind::Call { into: Some(_), args, .. } => args.iter().any(is_active),
        _ => false,
    }
}

/// The reverse of a store of an active value reads the adjoint of what was stored to, and then clears it.
fn add_clearings(values: &Values<'_>, block: &[Stmt], found: &mut HashSet<*const Stmt>) {
    let mut read: Vec<Location> = Vec::new();
    for stmt in block {
        if let StmtKind::Assign { place, value } = &stmt.kind
            && matches!(value.kind, ExprKind::Float(_))
            && values.location(place).is_some_and(|cleared| read.iter().any(|read| holds(read, &cleared)))
        {
            found.insert(std::ptr::from_ref(stmt));
        }
        if has_barrier(std::slice::from_ref(stmt)) {
            read.clear();
        }
        let _ = walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Load(place), .. }) = node
                && !matches!(place.kind, PlaceKind::Local(_))
            {
                read.extend(values.location(place));
            }
            ControlFlow::<()>::Continue(())
        });
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Block(inner) = part {
                add_clearings(values, inner, found);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Whether a location is another one, or a part of it.
fn holds(whole: &Location, part: &Location) -> bool {
    (whole.root, &whole.path, &whole.index) == (part.root, &part.path, &part.index)
        && part.tail.starts_with(&whole.tail)
}
