//! Makes the reverse sweep read values as they were in the forward sweep.
//!
//! The adjoint of a statement mentions values that the statement read. Where such a value is no longer in its place
//! when the reverse sweep comes by, the forward sweep keeps it in a variable beside the statement.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::super::decision::How;
use super::super::plan::still::Standing;
use super::Assembly;
use crate::analysis::Object;
use crate::ir::same::{same_expr, same_place};
use crate::ir::walk::{self, Node, PartMut, own_variable};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, LocalId, Place, PlaceKind, StmtKind, Type, UnaryOp};
use crate::transform::locals::{assign, declare};

/// Values kept for the adjoint of one statement.
#[derive(Default)]
pub(in crate::transform::reverse) struct Kept {
    /// The declarations, which belong before the statement.
    pub(in crate::transform::reverse) declarations: Block,
    /// What they held, under which conditions, and where it is.
    places: Vec<(Place, Vec<Expr>, LocalId)>,
    /// The conditions under which the statement reads what is looked at: those of `?:` around it.
    guards: Vec<Expr>,
    /// Whether the stores of the statement and of all later ones are taken back before its adjoint runs.
    pub(in crate::transform::reverse) is_put_back: bool,
}

impl Assembly<'_> {
    /// Rewrites the adjoint of a statement; `changed` are the objects that the statement itself or a later one in the
    /// frame writes.
    pub(in crate::transform::reverse) fn settle(
        &mut self,
        reverse: &mut Block,
        changed: &BTreeSet<Object>,
        kept: &mut Kept,
    ) {
        for stmt in reverse {
            if let StmtKind::If { cond, then_block, else_block } = &mut stmt.kind {
                let asked = cond.clone();
                self.settle_expr(cond, changed, kept);
                self.settle_guarded(then_block, asked.clone(), changed, kept);
                let denied = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(asked)), Type::Bool);
                self.settle_guarded(else_block, denied, changed, kept);
                continue;
            }
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

    /// The same of what is done under a condition, if the forward sweep can ask for it.
    fn settle_guarded(&mut self, block: &mut Block, guard: Expr, changed: &BTreeSet<Object>, kept: &mut Kept) {
        let mut is_known = true;
        let _ = walk::visit_expr(&guard, &mut |node| {
            if let Node::Place(Place { kind: PlaceKind::Local(local), .. }) = node {
                is_known &= self.rules.vars.is_primal(*local);
            }
            ControlFlow::<()>::Continue(())
        });
        let outer = kept.guards.len();
        kept.guards.extend(is_known.then_some(guard));
        self.settle(block, changed, kept);
        kept.guards.truncate(outer);
    }

    /// A condition that the reverse sweep tests again: kept as one truth value if any part of it may change.
    pub(in crate::transform::reverse) fn settle_condition(
        &mut self,
        cond: &Expr,
        changed: &BTreeSet<Object>,
        kept: &mut Kept,
    ) -> Expr {
        let Some(how) = self.rules.values().change_of(cond, changed) else { return cond.clone() };
        self.rules.decide(cond.span, "the condition", how);
        let local = self.rules.vars.add_saved("_taken", Type::Bool);
        kept.declarations.push(declare(local, Some(cond.clone())));
        Expr::load(Place::local(local, Type::Bool))
    }

    /// An expression for the reverse sweep, of the same value.
    pub(in crate::transform::reverse) fn settled(
        &mut self,
        expr: &Expr,
        changed: &BTreeSet<Object>,
        kept: &mut Kept,
    ) -> Expr {
        let mut expr = expr.clone();
        self.settle_expr(&mut expr, changed, kept);
        expr
    }

    fn settle_expr(&mut self, expr: &mut Expr, changed: &BTreeSet<Object>, kept: &mut Kept) {
        match &mut expr.kind {
            ExprKind::Load(place) if self.is_gone(place, changed, kept) => {
                let local = self.keep_place(place, kept);
                let ty = expr.ty.clone();
                *expr = Expr::load(Place::local(local, ty)).at(expr.span);
            }
            ExprKind::AddressOf(place)
                if own_variable(place).is_some_and(|local| self.rules.vars.is_register(local))
                    && self.is_gone(place, changed, kept) =>
            {
                let local = self.keep_place(place, kept);
                *place = Place::local(local, place.ty.clone());
            }
            ExprKind::Load(place) | ExprKind::AddressOf(place) => self.settle_operands(place, changed, kept),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => {
                let _ = walk::expr_parts_mut(expr, &mut |part| {
                    if let PartMut::Expr(operand) = part {
                        self.settle_expr(operand, changed, kept);
                    }
                    ControlFlow::<()>::Continue(())
                });
            }
        }
    }

    /// Whether a mentioned value is gone when the reverse sweep reads it; why, is written down.
    fn is_gone(&mut self, place: &Place, changed: &BTreeSet<Object>, kept: &Kept) -> bool {
        if kept.is_put_back && self.rules.is_put_back(place) {
            self.rules.decide(place.span, self.rules.vars.text_of(place), How::PutBack);
            return false;
        }
        let Some(standing) = self.rules.values().standing(place, changed) else { return false };
        let (is_gone, how) = match standing {
            Standing::There(how) => (false, how),
            Standing::Gone(how) => (true, how),
        };
        // Pointers to adjoints go with the pointers that they follow.
        if is_gone || self.rules.vars.is_primal_place(place) {
            self.rules.decide(place.span, self.rules.vars.text_of(place), how);
        }
        is_gone
    }

    /// Gives a place, at the beginning of an adjoint, the value that it had before the statement.
    pub(in crate::transform::reverse) fn put_back(
        &mut self,
        mut place: Place,
        changed: &BTreeSet<Object>,
        kept: &mut Kept,
        reverse: &mut Block,
    ) {
        kept.is_put_back = false;
        // Why it must be kept is written down.
        self.is_gone(&place, changed, kept);
        let old = self.keep_place(&place, kept);
        self.settle_operands(&mut place, changed, kept);
        let value = Expr::load(Place::local(old, place.ty.clone()));
        let span = place.span;
        reverse.insert(0, assign(place, value).at(span));
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

    /// The variable that holds what a place held at this statement.
    pub(in crate::transform::reverse) fn keep_place(&mut self, place: &Place, kept: &mut Kept) -> LocalId {
        // What was kept whenever this is read.
        let covers = |guards: &[Expr]| {
            guards.len() <= kept.guards.len()
                && guards.iter().zip(&kept.guards).all(|(left, right)| same_expr(left, right))
        };
        let known = kept.places.iter().find(|(known, guards, _)| same_place(known, place) && covers(guards));
        if let Some((_, _, local)) = known {
            return *local;
        }
        let wanted = format!("{}_old", self.rules.vars.base_name(place));
        // An element that the statement does not read may not be there; a variable is.
        let is_element = own_variable(place).is_none() && place.ty.is_arithmetic();
        let guards = if is_element { kept.guards.clone() } else { Vec::new() };
        let guard = guards.iter().cloned().reduce(|left, right| Expr::binary(BinaryOp::And, left, right));
        let local = match guard {
            None => self.rules.vars.copy_in_variable(&wanted, place, &mut kept.declarations),
            Some(guard) => {
                let ty = place.ty.clone();
                let local = self.rules.vars.add_saved(&wanted, ty.clone());
                let (then, otherwise) = (Box::new(Expr::load(place.clone())), Box::new(self.rules.vars.zero(&ty)));
                let value = Expr::new(ExprKind::Select(Box::new(guard), then, otherwise), ty);
                kept.declarations.push(declare(local, Some(value)).at(place.span));
                local
            }
        };
        kept.places.push((place.clone(), guards, local));
        local
    }
}
