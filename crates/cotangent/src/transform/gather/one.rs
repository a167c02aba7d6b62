//! Gathers and the rest of a kernel in one launch.
//!
//! The kernel clears adjoints that gathers read, of other threads as well, so gathers are launched before it. Where all that it
//! clears is the begin of an array, `if (i < n) _d_v[i] = 0`, that is a fill, which costs next to nothing: then one kernel does both, and
//! what gathers and rest both compute and read is read once.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::additions::{Changes, slice};
use super::digits::{Digit, digit};
use super::target::{Target, add_facts};
use super::{are_threads, compare, long, open_conditions, turn};
use crate::analysis::affine::{INDEX_BITS, Values};
use crate::analysis::ordering::has_barrier;
use crate::analysis::polynomial::Polynomial;
use crate::analysis::root::Root;
use crate::ir::walk::{self, Node, Part};
use crate::ir::{Axis, BinaryOp, Block, Expr, ExprKind, Place, PlaceKind, Stmt, StmtKind, Type};

/// An array whose first elements the launcher clears, in the place of threads.
pub(super) struct Cleared {
    /// The parameter that is the array.
    pub(super) array: Expr,
    element: Type,
    /// The axis whose threads did it.
    axis: Axis,
    /// How many there are, as an `int`.
    count: Expr,
}

impl Cleared {
    /// That there are some, each of which has its thread: in terms of the launch.
    pub(super) fn conditions(&self) -> Option<Vec<Expr>> {
        open_conditions(vec![
            compare(BinaryOp::GreaterEqual, long(&self.count), 1),
            are_threads(&self.count, self.axis),
        ])
    }

    /// How large they are, in terms of the kernel's parameters.
    pub(super) fn bytes(&self) -> Expr {
        let size = Expr::new(ExprKind::SizeOf(self.element.clone()), Type::SIZE);
        Expr::binary(BinaryOp::Multiply, Expr::cast(self.count.clone(), Type::SIZE), size)
    }
}

/// The axis whose threads each sum for the element of their number, if all of some gathers do so.
pub(super) fn axis_of_all(targets: &[&Target<'_>]) -> Option<Axis> {
    let axis = |target: &&Target<'_>| match (target.keys.as_slice(), target.axes.as_slice()) {
        ([key], &[axis]) => {
            let is_own = key.digit == Digit::Axis(axis) && key.with.is_empty() && key.spread() == [0, 0];
            (is_own && target.free.is_empty()).then_some(axis)
        }
        ([..], [..]) => None,
    };
    let first = targets.first().and_then(axis)?;
    targets.iter().all(|target| axis(target) == Some(first)).then_some(first)
}

/// Takes out of a kernel without its gathered additions what clears the adjoints that they read. None if anything else changes
/// what they read, or the kernel reads it after it is cleared.
pub(super) fn take_clears(
    values: &Values<'_>,
    changes: &Changes,
    targets: &[&Target<'_>],
    axis: Axis,
    body: &mut Block,
) -> Option<Vec<Cleared>> {
    if has_barrier(body) {
        return None;
    }
    let read = read_by(values, changes, targets)?;
    let mut found = Vec::new();
    for (outer, stmt) in body.iter().enumerate() {
        let StmtKind::If { cond, then_block, .. } = &stmt.kind else { continue };
        for (inner, stmt) in then_block.iter().enumerate() {
            if let Some((_, cleared)) = clear(values, cond, stmt, axis).filter(|(root, _)| read.contains(root)) {
                found.push((outer, inner, std::ptr::from_ref(stmt), cleared));
            }
        }
    }
    let is_clear = |stmt: &Stmt| found.iter().any(|(.., known, _)| std::ptr::eq(*known, stmt));
    let mut gone = BTreeSet::new();
    let mut is_fine = true;
    walk::each_stmt(body, &mut |stmt| {
        let mut written: BTreeSet<Root> = values.roots.written_by_call(stmt).into_iter().collect();
        written.extend(walk::written_places(stmt).into_iter().flat_map(|place| values.roots.place(place)));
        if is_clear(stmt) {
            // A second one would be of what was added since.
            is_fine &= written.iter().all(|root| gone.insert(*root));
        } else {
            is_fine &= written.iter().all(|root| !read.contains(root) && !root.is_open());
            is_fine &= !reads(values, stmt, &gone);
        }
    });
    if !is_fine {
        return None;
    }
    let mut all = Vec::new();
    for (outer, inner, _, cleared) in found.into_iter().rev() {
        if let StmtKind::If { then_block, .. } = &mut body[outer].kind {
            then_block.remove(inner);
        }
        all.push(cleared);
    }
    Some(all)
}

/// The memory that gathers read.
fn read_by(values: &Values<'_>, changes: &Changes, targets: &[&Target<'_>]) -> Option<BTreeSet<Root>> {
    let mut read = BTreeSet::new();
    let mut add = |node: Node<'_>| {
        if let Node::Expr(Expr { kind: ExprKind::Load(place), .. }) = node {
            read.extend(values.roots.place(place).into_iter().filter(|root| !matches!(root, Root::Private(_))));
        }
        ControlFlow::<()>::Continue(())
    };
    for target in targets {
        for addition in &target.additions {
            let block = slice(values, changes, addition, &target.counters(), Vec::new())?;
            let _ = walk::visit_block(&block, &mut add);
            let _ = walk::visit_expr(addition.value, &mut add);
            let _ = walk::visit_place(addition.place, &mut add);
        }
    }
    (!read.iter().any(Root::is_open)).then_some(read)
}

/// Whether a statement itself reads some memory.
fn reads(values: &Values<'_>, stmt: &Stmt, gone: &BTreeSet<Root>) -> bool {
    let is_gone =
        &mut |place: &Place| values.roots.place(place).iter().any(|root| gone.contains(root) || root.is_open());
    walk::stmt_parts(stmt, &mut |part| {
        let is_read = match part {
            Part::Expr(expr) => walk::loads_any(expr, is_gone),
            Part::Place(place) => walk::visit_place(place, &mut |node| match node {
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) if is_gone(place) => ControlFlow::Break(()),
                Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => ControlFlow::Continue(()),
            })
            .is_break(),
            Part::Block(_) => false,
        };
        if is_read { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .is_break()
}

/// What a statement under a condition clears, if each thread of an axis clears the element of its number, and those below a size do.
fn clear(values: &Values<'_>, cond: &Expr, stmt: &Stmt, axis: Axis) -> Option<(Root, Cleared)> {
    let StmtKind::Assign { place, value } = &stmt.kind else { return None };
    let PlaceKind::Element(pointer, index) = &place.kind else { return None };
    let ExprKind::Load(Place { kind: PlaceKind::Local(array), .. }) = &pointer.kind else { return None };
    let is_zero = matches!(value.kind, ExprKind::Float(value) if value.0.to_bits() == 0);
    let is_array = values.function.params.contains(array) && values.locals[*array].is_constant();
    if !is_zero || !is_array || !matches!(place.ty, Type::Float(_)) || digit(values, index) != Some(Digit::Axis(axis)) {
        return None;
    }
    // One comparison, so that these threads do and no others.
    let ordered = [BinaryOp::Less, BinaryOp::LessEqual, BinaryOp::Greater, BinaryOp::GreaterEqual];
    if !matches!(&cond.kind, ExprKind::Binary(op, ..) if ordered.contains(op)) {
        return None;
    }
    let mut facts = Vec::new();
    add_facts(values, cond, true, &mut facts);
    let [room] = facts.as_slice() else { return None };
    let limit = room.plus(1, &values.index(index)?)?.plus(1, &Polynomial::constant(1, INDEX_BITS))?;
    let count = turn::size(values, &limit)?;
    Some((Root::Param(*array), Cleared { array: (**pointer).clone(), element: place.ty.clone(), axis, count }))
}
