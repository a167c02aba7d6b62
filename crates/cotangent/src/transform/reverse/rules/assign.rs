//! Declarations and assignments.

use super::expr::seed_in;
use super::{Pair, Rules};
use crate::analysis::{self, carries_floats};
use crate::diagnostic::{Diagnostic, UNKNOWN_POINTER};
use crate::ir::same::same_place;
use crate::ir::walk::own_variable;
use crate::ir::{BinaryOp, Block, Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, Type, UnaryOp};
use crate::source::Span;
use crate::transform::Fact;
use crate::transform::locals::{aggregate, assign, constant, declare, in_type};

fn hidden_pointer(span: Span) -> Diagnostic {
    let message = "a pointer to active values is kept inside an array or a record that is pointed to";
    Diagnostic::new(UNKNOWN_POINTER, span, message, "no adjoint can be found for it in the reverse sweep")
        .help("keep the pointer in a variable of its own, or in a record that no pointer points to")
}

/// `place + rest`, `rest + place` or `place - rest`: the rest, and whether it is subtracted.
fn increment<'a>(place: &Place, value: &'a Expr) -> Option<(&'a Expr, bool)> {
    let ExprKind::Binary(op, left, right) = &value.kind else { return None };
    let is_place = |expr: &Expr| expr.as_load().is_some_and(|read| same_place(read, place));
    if *op == BinaryOp::Add && is_place(left) {
        Some((right, false))
    } else if *op == BinaryOp::Add && is_place(right) {
        Some((left, false))
    } else if *op == BinaryOp::Subtract && is_place(left) {
        Some((right, true))
    } else {
        None
    }
}

impl Rules<'_> {
    pub(in crate::transform::reverse) fn declare(&mut self, stmt: &Stmt, local: LocalId, init: Option<&Expr>) -> Pair {
        let place = Place::local(local, self.facts.primal.locals[local].ty.clone());
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        if !self.facts.has_shadow(local) || self.vars.is_shared(local) {
            return pair;
        }
        if analysis::uses_memory(self.facts.module, &place.ty) {
            let begins_at_zero = carries_floats(self.facts.module, &place.ty).then(|| self.vars.zero(&place.ty));
            let init = init.map(|init| self.shadow_value(init)).or(begins_at_zero);
            if let Some(Place { kind: PlaceKind::Local(shadow), .. }) = self.shadow(&place) {
                pair.forward.push(declare(shadow, init));
            }
        }
        // A pointer to the variable's adjoint is made in the forward sweep.
        if self.facts.locals.address_taken.contains(&local)
            && !analysis::uses_memory(self.facts.module, &place.ty)
            && let Some(Place { kind: PlaceKind::Local(shadow), .. }) = self.shadow(&place)
        {
            pair.forward.push(self.vars.declare_zero(shadow));
        }
        if let (Some(init), true) = (init, carries_floats(self.facts.module, &place.ty))
            && let Some(shadow) = self.shadow(&place)
        {
            if matches!(place.ty, Type::Float(_)) {
                self.adjoint_of_stored(&place, init, seed_in(shadow), &mut pair.reverse);
            } else {
                self.adjoint_of_aggregate(init, &shadow, &mut pair.reverse);
            }
        }
        pair
    }

    /// What a shadow that leads to adjoints begins with: pointers to them, and zeros.
    fn shadow_value(&mut self, value: &Expr) -> Expr {
        let ty = self.vars.shadows.widening.shadow(&value.ty);
        match (&value.ty, &value.kind) {
            (Type::Pointer(_), _) => match self.shadow_pointer(value) {
                Some(shadow) => Expr { ty, ..shadow },
                None => self.vars.zero(&ty),
            },
            (Type::Record(_) | Type::Array(..), ExprKind::Load(place)) => {
                let parts = self.vars.parts(place);
                let operands = parts.into_iter().map(|part| self.shadow_part(&Expr::load(part))).collect();
                aggregate(operands, ty)
            }
            (Type::Record(_) | Type::Array(..), ExprKind::Construct(operands)) => {
                let operands = operands.iter().map(|operand| self.shadow_part(operand)).collect();
                aggregate(operands, ty)
            }
            (Type::Record(_) | Type::Array(..), _) => {
                self.report(hidden_pointer(value.span));
                self.vars.zero(&ty)
            }
            (Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_), _) => self.vars.zero(&ty),
        }
    }

    /// The same for a part of an aggregate, which is of the type that the part has in the primal.
    fn shadow_part(&mut self, value: &Expr) -> Expr {
        match &value.ty {
            Type::Pointer(_) => match self.shadow_pointer(value) {
                Some(shadow) => Expr::cast(shadow, value.ty.unrestricted()),
                None => self.vars.zero(&value.ty),
            },
            ty if !analysis::uses_memory(self.facts.module, ty) => self.vars.zero(ty),
            Type::Void
            | Type::Bool
            | Type::Int(_)
            | Type::Float(_)
            | Type::Array(..)
            | Type::Record(_)
            | Type::Opaque(_) => self.shadow_value(value),
        }
    }

    /// Whether a store is one that adjoints cannot follow: of a pointer to them into something else than a variable, or
    /// into a parameter whose adjoint is the caller's.
    fn is_hidden_store(&self, place: &Place, value: &Expr) -> bool {
        let leads_on = |ty: &Type| analysis::uses_memory(self.facts.module, ty);
        if leads_on(&place.ty) && !matches!(place.kind, PlaceKind::Local(_) if place.ty.is_pointer()) {
            let reached = self.facts.objects.reachable(value);
            return self.facts.is_active_place(place)
                || reached.iter().any(|object| self.facts.activity.is_active(object));
        }
        own_variable(place).is_some_and(|local| {
            let ty = &self.facts.primal.locals[local].ty;
            self.facts.primal.params.contains(&local)
                && !ty.is_pointer()
                && leads_on(ty)
                && self.facts.is_active_place(place)
        })
    }

    pub(in crate::transform::reverse) fn assign(&mut self, stmt: &Stmt, place: &Place, value: &Expr) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        if self.is_hidden_store(place, value) {
            self.report(hidden_pointer(stmt.span));
            return pair;
        }
        if place.ty.is_pointer() {
            if let Some(shadow) = self.shadow_pointer(value)
                && let Some(target) = self.shadow(place)
            {
                let ty = target.ty.clone();
                pair.forward.push(assign(target, Expr { ty, ..shadow }).at(stmt.span));
            }
            return pair;
        }
        if !self.facts.is_active_place(place) {
            return pair;
        }
        let Some(shadow) = self.shadow(place) else { return pair };
        if matches!(place.ty, Type::Float(_)) {
            self.assign_number(stmt, place, value, shadow, &mut pair.reverse);
        } else {
            self.assign_aggregate(place, value, shadow, &mut pair.reverse);
        }
        pair
    }

    fn assign_number(&mut self, stmt: &Stmt, place: &Place, value: &Expr, shadow: Place, out: &mut Block) {
        if let Some((rest, is_minus)) = increment(place, value) {
            // What is added may be of the same array: then the adjoint itself may change on the way.
            let seed = seed_in(shadow);
            let seed = if self.facts.reads_object_of(place, rest) { self.vars.keep("_r", seed, out) } else { seed };
            let seed = if is_minus { Expr::unary(UnaryOp::Negate, seed) } else { seed };
            return self.adjoint(rest, seed, out);
        }
        let zero = assign(shadow.clone(), constant(0.0, &shadow.ty)).at(stmt.span);
        if self.facts.reads_object_of(place, value) {
            let seed = self.vars.keep("_r", seed_in(shadow), out);
            out.push(zero);
            self.adjoint_of_stored(place, value, seed, out);
        } else {
            self.adjoint_of_stored(place, value, seed_in(shadow), out);
            if !self.is_first_value(place) {
                out.push(zero);
            }
        }
    }

    fn assign_aggregate(&mut self, place: &Place, value: &Expr, shadow: Place, out: &mut Block) {
        let seed = if self.facts.reads_object_of(place, value) {
            let local = self.vars.add("_r", shadow.ty.clone());
            out.push(declare(local, Some(Expr::load(shadow.clone()))));
            self.vars.clear(&shadow, out);
            Place::local(local, shadow.ty.clone())
        } else {
            shadow.clone()
        };
        let is_shadow = seed == shadow;
        self.adjoint_of_aggregate(value, &seed, out);
        if is_shadow && !self.is_first_value(place) {
            self.vars.clear(&shadow, out);
        }
    }

    /// Whether a statement that writes `place` gives a variable of this frame its only value, so that its adjoint needs
    /// no clearing.
    pub(in crate::transform::reverse) fn is_first_value(&self, place: &Place) -> bool {
        let PlaceKind::Local(local) = place.kind else { return false };
        let is_inside = self.frames.innermost().is_none_or(|frame| !frame.is_loop || frame.declared.contains(&local));
        let is_only = is_inside
            && !self.vars.is_shared(local)
            && self.facts.locals.write_counts.get(&local) == Some(&1)
            && !self.facts.primal.params.contains(&local);
        self.facts.trust.answer(Fact::OnlyValue, false, is_only)
    }

    /// A value that is overwritten by a constant has no adjoint before.
    pub(in crate::transform::reverse) fn forget(&mut self, into: &Place, out: &mut Block) {
        if !self.is_first_value(into)
            && let Some(shadow) = self.shadow(into)
        {
            self.vars.clear(&shadow, out);
        }
    }

    /// The adjoint of what a call computes in the type that the pullback takes, and its end: an adjoint that the call
    /// adds to must not be the seed itself.
    pub(in crate::transform::reverse) fn seed_of(
        &mut self,
        into: &Place,
        ty: &Type,
        shadow: &Place,
        out: &mut Block,
    ) -> Expr {
        if self.is_first_value(into) && matches!(into.ty, Type::Float(_)) {
            return self.as_type(shadow, ty);
        }
        let local = self.vars.add("_r", ty.clone());
        out.push(declare(local, Some(self.as_type(shadow, ty))));
        self.vars.clear(shadow, out);
        Expr::load(Place::local(local, ty.clone()))
    }

    /// What an adjoint holds, its numbers in the precision of a type of the same shape.
    fn as_type(&self, adjoint: &Place, ty: &Type) -> Expr {
        let (Type::Record(from), Type::Record(into)) = (&adjoint.ty, ty) else {
            return in_type(Expr::load(adjoint.clone()), ty);
        };
        if from == into {
            return Expr::load(adjoint.clone());
        }
        let fields = |record| (0u32..).zip(&self.facts.module.records[record].fields);
        let parts = fields(*from).zip(fields(*into)).map(|((position, from), (_, into))| {
            self.as_type(&adjoint.clone().field(position, from.ty.clone()), &into.ty)
        });
        Expr::new(ExprKind::Construct(parts.collect()), ty.clone())
    }
}
