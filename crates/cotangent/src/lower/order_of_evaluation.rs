//! Keeps the order of evaluation when effects inside expressions become statements.
//!
//! `a[i] + f(&i)` lowers to the call as a statement and the sum as an expression after it. What was to be evaluated
//! before the call, and could be changed by it, is kept in a temporary before it.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::body::Body;
use crate::ir::walk::{self, Node};
use crate::ir::{Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind, Storage, Type, Unread};

/// What statements may change.
#[derive(Default)]
struct Changes {
    /// Locals that are stored to by name.
    locals: HashSet<LocalId>,
    /// Whether memory may change: through a pointer, by a call or by another thread.
    memory: bool,
}

impl Body<'_, '_> {
    /// Keeps the values of expressions that were lowered before the statements from `before` on, where these
    /// could change them.
    pub(super) fn protect<'e>(&mut self, before: usize, earlier: impl IntoIterator<Item = &'e mut Expr>) {
        if self.block.len() == before {
            return;
        }
        let changes = changes(&self.block[before..]);
        let mut at = before;
        for expr in earlier {
            self.protect_value(expr, &changes, &mut at);
        }
    }

    fn protect_value(&mut self, expr: &mut Expr, changes: &Changes, at: &mut usize) {
        if !self.is_affected(expr, changes) {
            return;
        }
        // An array is no value: its elements are.
        if let (ExprKind::Construct(elements), Type::Array(..)) = (&mut expr.kind, &expr.ty) {
            elements.iter_mut().for_each(|element| self.protect_value(element, changes, at));
            return;
        }
        let local = self.new_temporary(expr.ty.clone());
        let value = std::mem::replace(expr, Expr::load(self.local_place(local)));
        let kind = StmtKind::Declare { local, init: Some(value) };
        self.block.insert(*at, Stmt::new(kind).at(self.span));
        *at += 1;
    }

    /// Whether a place is the same one after it was stored to: `a[a[0]]` need not be.
    pub(super) fn is_stable(&self, place: &Place) -> bool {
        let mut changes = Changes::default();
        store(place, &mut changes);
        self.operands_are_stable(place, &changes, &place.ty)
    }

    fn operands_are_stable(&self, place: &Place, changes: &Changes, stored: &Type) -> bool {
        let is_stable = |operand: &Expr| !reads_like(operand, stored) || !self.is_affected(operand, changes);
        match &place.kind {
            PlaceKind::Local(_) | PlaceKind::Global(_) => true,
            PlaceKind::Element(pointer, index) => is_stable(pointer) && is_stable(index),
            PlaceKind::Field(base, _) => self.operands_are_stable(base, changes, stored),
            PlaceKind::Index(base, index) => self.operands_are_stable(base, changes, stored) && is_stable(index),
        }
    }

    /// A place that stays the same when it is stored to: itself, or what a pointer to it that is kept points to.
    pub(super) fn fixed(&mut self, place: Place) -> Place {
        if self.is_stable(&place) { place } else { self.pointed_to(place) }
    }

    /// Remembers that the address of a place was taken.
    pub(super) fn note_address(&mut self, place: &Place) {
        match &place.kind {
            PlaceKind::Local(local) => {
                self.addressed.insert(*local);
            }
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => self.note_address(base),
            PlaceKind::Global(_) | PlaceKind::Element(..) => {}
        }
    }

    fn is_affected(&self, expr: &Expr, changes: &Changes) -> bool {
        let result = walk::visit_expr(expr, &mut |node| {
            let affected = match node {
                Node::Place(place) => match &place.kind {
                    PlaceKind::Local(local) => {
                        let in_memory =
                            self.addressed.contains(local) || self.locals[*local].storage != Storage::Private;
                        changes.locals.contains(local) || changes.memory && in_memory
                    }
                    PlaceKind::Global(_) | PlaceKind::Element(..) => changes.memory,
                    PlaceKind::Field(..) | PlaceKind::Index(..) => false,
                },
                // An address depends on the operands of its place, which are visited, not on what is there.
                Node::Expr(_) | Node::Stmt(_) => false,
            };
            if affected { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        result.is_break() && !matches!(expr.kind, ExprKind::AddressOf(Place { kind: PlaceKind::Local(_), .. }))
    }
}

/// Whether an expression reads something that a store of a type may change: a store of a floating number changes no
/// pointer and no integer but a character, as C++ has it.
fn reads_like(expr: &Expr, stored: &Type) -> bool {
    let is_apart = |read: &Type| match (stored, read) {
        (Type::Float(_), Type::Int(kind)) => kind.bits() > 8,
        (Type::Float(_), Type::Pointer(_)) => true,
        _ => false,
    };
    walk::visit_expr(expr, &mut |node| match node {
        Node::Expr(Expr { kind: ExprKind::Load(place), .. }) if !is_apart(&place.ty) => ControlFlow::Break(()),
        Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => ControlFlow::Continue(()),
    })
    .is_break()
}

fn changes(block: &[Stmt]) -> Changes {
    let mut changes = Changes::default();
    walk::each_stmt(block, &mut |stmt| match &stmt.kind {
        StmtKind::Assign { place, .. } | StmtKind::Accumulate { place, .. } | StmtKind::Pop { into: place, .. } => {
            store(place, &mut changes);
        }
        StmtKind::Call { into, .. }
        | StmtKind::Atomic { into, .. }
        | StmtKind::Barrier { into, .. }
        | StmtKind::Collective { into, .. }
        | StmtKind::Runtime { into, .. } => {
            changes.memory = true;
            into.iter().for_each(|place| store(place, &mut changes));
        }
        StmtKind::Opaque { code, into, .. } => {
            changes.memory |= *code == Unread::Passed;
            into.iter().chain(walk::written_places(stmt)).for_each(|place| store(place, &mut changes));
        }
        StmtKind::Launch(_) => changes.memory = true,
        StmtKind::Declare { .. }
        | StmtKind::If { .. }
        | StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(_)
        | StmtKind::Push { .. } => {}
    });
    changes
}

fn store(place: &Place, changes: &mut Changes) {
    match &place.kind {
        PlaceKind::Local(local) => {
            changes.locals.insert(*local);
        }
        PlaceKind::Global(_) | PlaceKind::Element(..) => changes.memory = true,
        PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => store(base, changes),
    }
}
