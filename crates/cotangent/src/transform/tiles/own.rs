//! Shared arrays of which each thread touches its own element alone, once what others add to it is gathered: they are variables
//! of the thread.

use std::ops::ControlFlow;

use crate::analysis::block_shape::{Shape, coordinate};
use crate::analysis::locals::{Locals, locals};
use crate::ir::walk::{self, Node, NodeMut};
use crate::ir::{Axis, BarrierKind, Block, Function, LocalId, Place, PlaceKind, Stmt, StmtKind, Type};
use crate::transform::elements::lengths;
use crate::transform::locals::{constant, declare};

/// An array, and the variable that stands for each thread's element.
pub(super) type Kept = (LocalId, LocalId);

/// The coordinates that are the indices of the one element that each thread has of an array, if blocks have its shape.
pub(super) fn own_axes(ty: &Type, shape: &Shape) -> Option<Vec<Axis>> {
    let mut own: Vec<(Axis, u64)> = Axis::ALL.into_iter().zip(shape.extents()?).rev().collect();
    let all = lengths(ty);
    while own.len() > all.len() && own[0].1 == 1 {
        own.remove(0);
    }
    let is_shape = own.iter().map(|(_, extent)| extent).eq(&all);
    is_shape.then(|| own.into_iter().map(|(axis, _)| axis).collect())
}

/// How often a kernel mentions an array beside clearing it when it begins.
pub(super) fn uses(body: &[Stmt], array: LocalId) -> usize {
    let rest = body.iter().filter(|stmt| !clears(stmt, array));
    rest.map(|stmt| walk::count_mentions(std::slice::from_ref(stmt), array)).sum()
}

/// Whether a statement does nothing but clear an array.
fn clears(stmt: &Stmt, array: LocalId) -> bool {
    let StmtKind::For(head) = &stmt.kind else { return false };
    let [Stmt { kind: StmtKind::Assign { place, value }, .. }] = head.body.as_slice() else { return false };
    walk::own_variable(place) == Some(array) && *value == constant(0.0, &place.ty)
}

/// Whether all that a block does with an array is to touch the elements with these coordinates.
pub(super) fn is_own(function: &Function, block: &Block, array: LocalId, own: &[Axis]) -> bool {
    let function = Function { body: block.clone(), ..function.clone() };
    let uses = locals(&function);
    let mut count = 0;
    let _ = walk::visit_block(&function.body, &mut |node| {
        let is_element = |place: &Place| walk::own_variable(place) == Some(array) && is_at(&uses, place, own);
        count += usize::from(matches!(node, Node::Place(place) if is_element(place)));
        ControlFlow::<()>::Continue(())
    });
    count == walk::count_mentions(&function.body, array)
}

/// Whether a place is the element with these coordinates, the outermost first.
fn is_at(uses: &Locals<'_>, place: &Place, own: &[Axis]) -> bool {
    match (&place.kind, own) {
        (PlaceKind::Index(base, index), [outer @ .., axis]) => {
            coordinate(uses, index) == Some(*axis) && is_at(uses, base, outer)
        }
        (PlaceKind::Local(_), []) => true,
        (_, _) => false,
    }
}

/// Puts the variable in the place of the element.
pub(super) fn replace(block: &mut Block, (array, variable): Kept) {
    let _ = walk::visit_block_mut(block, &mut |node| {
        if let NodeMut::Place(place) = node
            && !matches!(place.ty, Type::Array(..))
            && matches!(place.kind, PlaceKind::Index(..))
            && walk::own_variable(place) == Some(array)
        {
            *place = Place::local(variable, place.ty.clone());
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Declares the variables where the arrays were cleared.
pub(super) fn declare_kept(body: &mut Block, function: &Function, kept: &[Kept]) {
    for (array, variable) in kept {
        body.retain(|stmt| walk::declared_local(stmt) != Some(*array));
        let zero = || constant(0.0, &function.locals[*variable].ty);
        for stmt in body.iter_mut().filter(|stmt| clears(stmt, *array)) {
            *stmt = declare(*variable, Some(zero()));
        }
    }
    // Before the first barrier nobody has written anything any more.
    let is_first = |stmt: &Stmt| !matches!(stmt.kind, StmtKind::Declare { .. });
    if let Some(first) = body.iter().position(is_first)
        && !kept.is_empty()
        && matches!(body[first].kind, StmtKind::Barrier { kind: BarrierKind::Block, .. })
    {
        body.remove(first);
    }
}
