//! Makes the reverse sweep read values as they were in the forward sweep.
//!
//! The adjoint of a statement mentions values that the statement read. Where such a value is no longer in its place
//! when the reverse sweep comes by, the forward sweep keeps it in a variable beside the statement.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::super::locals::{declare, same_place};
use super::function::Ctx;
use crate::analysis::{Base, Object};
use crate::ir::walk::{self, Node, PartMut, own_variable};
use crate::ir::{Block, Expr, ExprKind, LocalId, Place, PlaceKind, Space, Type};

/// Values kept for the adjoint of one statement.
#[derive(Default)]
pub(super) struct Kept {
    /// The declarations, which belong before the statement.
    pub(super) declarations: Block,
    places: Vec<(Place, LocalId)>,
}

impl Ctx<'_> {
    /// Rewrites the adjoint of a statement; `changed` are the objects that the statement itself or a later one in the
    /// frame writes.
    pub(super) fn settle(&mut self, reverse: &mut Block, changed: &BTreeSet<Object>, kept: &mut Kept) {
        for stmt in reverse {
            let _ = walk::stmt_parts_mut(stmt, &mut |part| {
                match part {
                    PartMut::Expr(expr) => self.settle_expr(expr, changed, kept),
                    PartMut::Place(place) => self.settle_operands(place, changed, kept),
                    PartMut::Block(block) => self.settle(block, changed, kept),
                }
                ControlFlow::<()>::Continue(())
            });
        }
    }

    /// A condition that the reverse sweep tests again: kept as one truth value if any part of it may change.
    pub(super) fn settle_condition(&mut self, cond: &Expr, changed: &BTreeSet<Object>, kept: &mut Kept) -> Expr {
        if !self.changes(cond, changed) {
            return cond.clone();
        }
        let local = self.names.add(&mut self.function, "_taken", Type::Bool);
        kept.declarations.push(declare(local, Some(cond.clone())));
        Expr::load(Place::local(local, Type::Bool))
    }

    /// An expression for the reverse sweep, of the same value.
    pub(super) fn settled(&mut self, expr: &Expr, changed: &BTreeSet<Object>, kept: &mut Kept) -> Expr {
        let mut expr = expr.clone();
        self.settle_expr(&mut expr, changed, kept);
        expr
    }

    /// Whether an expression may have another value in the reverse sweep.
    pub(super) fn changes(&self, expr: &Expr, changed: &BTreeSet<Object>) -> bool {
        walk::visit_expr(expr, &mut |node| match node {
            Node::Expr(Expr { kind: ExprKind::Load(place), .. }) if self.must_keep(place, changed) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })
        .is_break()
    }

    fn settle_expr(&mut self, expr: &mut Expr, changed: &BTreeSet<Object>, kept: &mut Kept) {
        match &mut expr.kind {
            ExprKind::Load(place) if self.must_keep(place, changed) => {
                let local = self.keep_place(place, kept);
                let ty = expr.ty.clone();
                *expr = Expr::load(Place::local(local, ty)).at(expr.span);
            }
            ExprKind::AddressOf(place)
                if own_variable(place).is_some_and(|local| self.is_register(local))
                    && self.must_keep(place, changed) =>
            {
                let local = self.keep_place(place, kept);
                *place = Place::local(local, place.ty.clone());
            }
            ExprKind::Load(place) | ExprKind::AddressOf(place) => self.settle_operands(place, changed, kept),
            _ => {
                let _ = walk::expr_parts_mut(expr, &mut |part| {
                    if let PartMut::Expr(operand) = part {
                        self.settle_expr(operand, changed, kept);
                    }
                    ControlFlow::<()>::Continue(())
                });
            }
        }
    }

    fn settle_operands(&mut self, place: &mut Place, changed: &BTreeSet<Object>, kept: &mut Kept) {
        let _ = walk::place_parts_mut(place, &mut |part| {
            match part {
                PartMut::Expr(expr) => self.settle_expr(expr, changed, kept),
                PartMut::Place(base) => self.settle_operands(base, changed, kept),
                PartMut::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
    }

    /// Whether the value of a place at this statement is gone when the reverse sweep reads it.
    pub(super) fn must_keep(&self, place: &Place, changed: &BTreeSet<Object>) -> bool {
        let Some(objects) = self.primal_objects(place) else { return false };
        objects.iter().any(|object| match object.as_local() {
            Some(local) => changed.contains(object) || (!self.is_register(local) && self.is_unstable_memory(object)),
            None if self.is_host() => {
                changed.iter().any(|other| other.overlaps(object)) || self.is_unstable_memory(object)
            }
            None => self.is_volatile(object),
        })
    }

    /// Whether the function runs on the host: one thread, in order.
    pub(super) fn is_host(&self) -> bool {
        self.primal.space == Space::Host
    }

    /// Memory that other threads may write too: the kernel writes it somewhere.
    pub(super) fn is_volatile(&self, object: &Object) -> bool {
        self.written.iter().any(|other| other.overlaps(object))
    }

    /// Whether memory of the thread's own changes between this iteration and its reverse.
    pub(super) fn is_unstable_memory(&self, object: &Object) -> bool {
        for frame in self.frames.iter().rev() {
            if object.as_local().is_some_and(|local| frame.declared.contains(&local)) {
                return false;
            }
            if object.as_local().is_some_and(|local| frame.reloaded.contains(&local)) {
                return false;
            }
            if frame.unstable.contains(object) {
                return true;
            }
        }
        false
    }

    /// The objects of a place of the primal program, or of a pointer to adjoints; none for adjoints themselves, which
    /// the reverse sweep alone writes.
    fn primal_objects(&self, place: &Place) -> Option<BTreeSet<Object>> {
        if let PlaceKind::Local(local) = place.kind
            && let Some(followed) = self.twins.get(&local)
        {
            return Some(BTreeSet::from([Object::local(*followed)]));
        }
        if !self.is_primal_place(place) {
            return None;
        }
        Some(self.objects.of_place(place))
    }

    /// Whether a place is reached from variables of the primal program only.
    pub(super) fn is_primal_place(&self, place: &Place) -> bool {
        match &place.kind {
            PlaceKind::Local(local) => self.is_primal(*local),
            PlaceKind::Global(_) => true,
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => self.is_primal_place(base),
            PlaceKind::Element(pointer, _) => {
                let mut is_primal = true;
                let _ = walk::visit_expr(pointer, &mut |node| {
                    if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
                        is_primal &= self.is_primal(*local);
                    }
                    ControlFlow::<()>::Continue(())
                });
                is_primal
            }
        }
    }

    /// The variable that holds what a place held at this statement.
    pub(super) fn keep_place(&mut self, place: &Place, kept: &mut Kept) -> LocalId {
        if let Some((_, local)) = kept.places.iter().find(|(known, _)| same_place(known, place)) {
            return *local;
        }
        let wanted = format!("{}_old", self.base_name(place));
        let local = self.copy_in_variable(&wanted, place, &mut kept.declarations);
        kept.places.push((place.clone(), local));
        local
    }

    /// The name of what a place is a part of, for variables that are named after it.
    pub(super) fn base_name(&self, place: &Place) -> String {
        match &place.kind {
            PlaceKind::Local(local) => self.function.locals[*local].name.to_string(),
            PlaceKind::Global(global) => {
                let name = &self.module.globals[*global].name;
                name.rsplit("::").next().unwrap_or(name).to_owned()
            }
            PlaceKind::Field(base, position) => {
                let field = match base.ty {
                    Type::Record(record) => self.module.records[record].fields[*position as usize].name.to_string(),
                    _ => position.to_string(),
                };
                format!("{}_{field}", self.base_name(base))
            }
            PlaceKind::Index(base, _) => self.base_name(base),
            PlaceKind::Element(pointer, _) => match &pointer.kind {
                ExprKind::Load(place) | ExprKind::AddressOf(place) => self.base_name(place),
                ExprKind::Binary(_, left, _) => match &left.kind {
                    ExprKind::Load(place) => self.base_name(place),
                    _ => "value".to_owned(),
                },
                _ => "value".to_owned(),
            },
        }
    }

    /// Whether a place lies in the thread's own memory, whatever pointer leads there.
    pub(super) fn is_private_place(&self, place: &Place) -> bool {
        self.objects.of_place(place).iter().all(|object| self.is_private(object))
    }

    /// Whether an object is the thread's own, and its adjoint too.
    pub(super) fn is_private(&self, object: &Object) -> bool {
        match object.base {
            _ if self.is_host() => true,
            Base::Local(local) => {
                object.path.is_empty() && !self.shared_values.contains(&local) && !self.is_shared(local)
            }
            Base::Global(_) | Base::Unknown => false,
        }
    }
}
