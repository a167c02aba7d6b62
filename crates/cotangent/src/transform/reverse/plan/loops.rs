//! How a loop is turned around: which iterations there were, and what each begins with.

use std::collections::{BTreeSet, HashSet};

use super::super::headers::{constant_trips, keeps_bits, split_exit, trips};
use super::super::variables::uses::Needed;
use super::Values;
use crate::analysis::{self, Object};
use crate::ir::{BinaryOp, Expr, ExprKind, For, LocalId, Place, Stmt, StmtKind, Type, UnaryOp};
use crate::transform::{Fact, Trust};

/// A loop of the primal program.
pub(in crate::transform::reverse) struct Loop<'a> {
    pub(in crate::transform::reverse) stmt: &'a Stmt,
    pub(in crate::transform::reverse) head: Option<&'a For>,
    /// What leaves it at the end of its body.
    pub(in crate::transform::reverse) exit: Option<&'a Stmt>,
    /// Objects that it writes.
    pub(in crate::transform::reverse) written: BTreeSet<Object>,
    /// Variables that live inside.
    pub(in crate::transform::reverse) declared: HashSet<LocalId>,
}

/// How the reverse sweep knows the iterations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::transform::reverse) enum Iterations {
    /// The header says how many there are, and which value the counter has in each.
    Header,
    /// The forward sweep counts them. The counter is a formula of the number of the iteration.
    Formula,
    /// The forward sweep counts them. The counter, if there is one, is a value like any other.
    Counted,
}

/// How an iteration of the reverse sweep gets a value that the forward iteration began with.
#[derive(Clone, Debug)]
pub(in crate::transform::reverse) enum Entry {
    /// The loop changes it: recorded in each iteration.
    Recorded,
    /// The loop changes it by the same in each iteration: the value before the loop, and so often this step.
    Numbered { step: BinaryOp, by: Expr },
    /// What follows the loop changes it: kept once, before the loop.
    Kept,
}

impl Values<'_> {
    pub(in crate::transform::reverse) fn iterations(&self, it: &Loop<'_>) -> Iterations {
        match (self.vars.facts.trust, it.head) {
            (Trust { doubted: Some(Fact::Iterations), .. }, _) => return Iterations::Counted,
            (Trust { denied: Some(Fact::Iterations), .. }, Some(_)) => return Iterations::Header,
            (Trust { .. }, _) => {}
        }
        let Some(head) = it.head.filter(|head| self.has_formula(head, &it.written)) else { return Iterations::Counted };
        let is_counted = it.exit.is_none()
            && head.to.ty == head.from.ty
            && !self.changes(&head.to, &it.written)
            && !self.vars.reads(&head.to).contains(&head.counter)
            && matches!(
                (head.step, head.test),
                (BinaryOp::Add, BinaryOp::Less | BinaryOp::LessEqual)
                    | (BinaryOp::Subtract, BinaryOp::Greater | BinaryOp::GreaterEqual)
            );
        if is_counted { Iterations::Header } else { Iterations::Formula }
    }

    /// Whether a counter is a simple function of the number of the iteration: a linear one, or a shift.
    fn has_formula(&self, head: &For, written: &BTreeSet<Object>) -> bool {
        let is_simple = match head.step {
            BinaryOp::Add | BinaryOp::Subtract => head.by.ty == head.from.ty,
            BinaryOp::Multiply | BinaryOp::Divide => head.by.as_int() == Some(2) && keeps_bits(head),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => head.by.as_int() == Some(1) && keeps_bits(head),
            BinaryOp::Remainder
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Offset
            | BinaryOp::Distance => false,
        };
        matches!(self.vars.function.locals[head.counter].ty, Type::Int(_))
            && is_simple
            && !self.changes(&head.by, written)
            && !self.vars.reads(&head.by).contains(&head.counter)
    }

    /// The values that an iteration must begin with, where they are no longer there. `here` are the objects that the loop
    /// or a later statement of the frame writes.
    pub(in crate::transform::reverse) fn entries(
        &self,
        it: &Loop<'_>,
        needed: &Needed,
        here: &BTreeSet<Object>,
    ) -> Vec<(LocalId, Entry)> {
        let mut found = Vec::new();
        for local in needed.iter().filter(|local| !it.declared.contains(local)) {
            let followed = self.vars.followed(*local);
            if !self.vars.is_primal(followed) || !self.vars.is_register(*local) {
                continue;
            }
            let object = Object::local(followed);
            let is_changed = it.written.contains(&object);
            if self.vars.facts.trust.answer(Fact::Entries, true, is_changed) {
                found.push((*local, self.numbered(it, *local).unwrap_or(Entry::Recorded)));
            } else if here.contains(&object) {
                found.push((*local, Entry::Kept));
            }
        }
        found
    }

    /// An integer to which each iteration adds the same, or a pointer that goes on by the same.
    fn numbered(&self, it: &Loop<'_>, local: LocalId) -> Option<Entry> {
        if !self.vars.facts.trust.is_whole() {
            return None;
        }
        let followed = self.vars.followed(local);
        let (step, by) = self.step_of(it.stmt.kind.loop_body()?, followed, it.exit.and_then(stop_of))?;
        let is_sum = match self.vars.function.locals[local].ty {
            Type::Int(_) => matches!(step, BinaryOp::Add | BinaryOp::Subtract),
            Type::Pointer(_) => step == BinaryOp::Offset,
            Type::Void | Type::Bool | Type::Float(_) | Type::Array(..) | Type::Record(_) | Type::Opaque(_) => false,
        };
        let is_step = is_sum && !self.vars.reads(&by).contains(&followed) && !self.changes(&by, &it.written);
        is_step.then_some(Entry::Numbered { step, by })
    }

    /// What an iteration does to a variable, if it is one operation: its own, or that of a loop inside, as often as that runs.
    fn step_of(&self, block: &[Stmt], variable: LocalId, stop: Option<LocalId>) -> Option<(BinaryOp, Expr)> {
        if let Some((place, value)) = self.only_step(block, variable, stop) {
            let ExprKind::Binary(step, old, by) = &value.kind else { return None };
            let is_own = place.as_local() == Some(variable) && old.as_local() == Some(variable);
            return is_own.then(|| (*step, (**by).clone()));
        }
        let mut writers = block.iter().filter(|stmt| self.vars.written_inside(stmt).contains(&variable));
        let (Some(writer), None) = (writers.next(), writers.next()) else { return None };
        let StmtKind::For(head) = &writer.kind else { return None };
        let stmts = std::slice::from_ref(writer);
        let exit = split_exit(&head.body).1;
        let written = analysis::written(self.vars.facts.objects, stmts);
        let inner =
            Loop { stmt: writer, head: Some(head), exit, written, declared: self.vars.facts.declared_in(stmts) };
        if self.iterations(&inner) != Iterations::Header {
            return None;
        }
        let (step, by) = self.step_of(&head.body, variable, None)?;
        let mut often = trips(head);
        if !matches!(often.kind, ExprKind::Select(..)) {
            let runs = Expr::binary(head.test, head.from.clone(), head.to.clone());
            let none = Expr::new(ExprKind::Int(0), often.ty.clone());
            let ty = often.ty.clone();
            often = Expr::new(ExprKind::Select(Box::new(runs), Box::new(often), Box::new(none)), ty);
        }
        let often = constant_trips(head).map_or(often, |often| Expr::new(ExprKind::Int(often.into()), by.ty.clone()));
        let often = if often.ty == by.ty { often } else { Expr::cast(often, by.ty.clone()) };
        Some((step, if by.as_int() == Some(1) { often } else { Expr::binary(BinaryOp::Multiply, often, by) }))
    }

    /// The one assignment to a variable that each iteration runs which another one follows: in the other branch, if there is
    /// one, the loop is told to stop.
    fn only_step<'a>(
        &self,
        block: &'a [Stmt],
        variable: LocalId,
        stop: Option<LocalId>,
    ) -> Option<(&'a Place, &'a Expr)> {
        let writes = |stmt: &Stmt, local: LocalId| self.vars.written_inside(stmt).contains(&local);
        let mut writers = block.iter().enumerate().filter(|(_, stmt)| writes(stmt, variable));
        let (Some((position, writer)), None) = (writers.next(), writers.next()) else { return None };
        if let StmtKind::Assign { place, value } = &writer.kind {
            return Some((place, value));
        }
        let StmtKind::If { cond, then_block, else_block } = &writer.kind else { return None };
        let stop = stop.filter(|stop| !block[position + 1..].iter().any(|stmt| writes(stmt, *stop)))?;
        let is_told = |stmt: &Stmt| {
            let StmtKind::Assign { place, value } = &stmt.kind else { return false };
            place.as_local() == Some(stop) && value.kind == ExprKind::Bool(true)
        };
        let (own, other) = match [then_block, else_block].map(|block| block.iter().any(|stmt| writes(stmt, variable))) {
            [true, false] => (then_block, else_block),
            [false, true] => (else_block, then_block),
            [true, true] | [false, false] => return None,
        };
        let is_going_on = if let ExprKind::Unary(UnaryOp::Not, stopped) = &cond.kind {
            stopped.as_local() == Some(stop) && std::ptr::eq(own, then_block)
        } else {
            cond.as_local() == Some(stop) && std::ptr::eq(own, else_block)
        };
        let is_stopped = other.iter().rfind(|stmt| writes(stmt, stop)).is_some_and(is_told);
        if is_going_on || is_stopped { self.only_step(own, variable, Some(stop)) } else { None }
    }
}

/// The variable that tells a loop to stop, by `if (v) break;` at its end.
fn stop_of(exit: &Stmt) -> Option<LocalId> {
    if let StmtKind::If { cond, .. } = &exit.kind { cond.as_local() } else { None }
}
