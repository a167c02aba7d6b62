//! Carries out what was planned for an iteration: the statements that the reverse sweep repeats, and the variables by which it
//! is given what was recorded.

use std::ops::ControlFlow;

use super::super::decision::How;
use super::super::plan::again::{Again, Condition, Slicer, leaves_loop};
use super::super::rules::Rules;
use super::super::variables::Variables;
use super::super::variables::uses::Needed;
use super::Assembly;
use crate::ir::walk::{self, PartMut, own_variable};
use crate::ir::{BarrierKind, Block, Expr, LocalId, Place, Stmt, StmtKind, Type};
use crate::transform::locals::{assign, declare, when};

/// One iteration taken apart.
#[derive(Default)]
pub(in crate::transform::reverse) struct Sliced {
    /// What the forward sweep runs: everything, and variables for what is recorded.
    pub(in crate::transform::reverse) forward: Block,
    /// What the reverse sweep repeats.
    pub(in crate::transform::reverse) slice: Block,
    /// Variables of the iteration whose values are recorded, in the order of the text.
    pub(in crate::transform::reverse) recorded: Vec<LocalId>,
}

/// Takes an iteration apart. `needed` are the variables that its reverse sweep reads; afterwards, those that must have
/// their values at the beginning of the iteration.
pub(in crate::transform::reverse) fn take_apart(rules: &mut Rules<'_>, block: &[Stmt], needed: &mut Needed) -> Sliced {
    let mut slicer = Slicer::new(rules.values());
    let again = slicer.iteration(block, needed);
    let Slicer { refused, unfilled, .. } = slicer;
    refused.into_iter().for_each(|found| rules.report(found));
    rules.refused.unfilled.extend(unfilled);
    write_down(rules, block, &again);
    let mut sliced = carry_out(&mut rules.vars, block, &again);
    for local in &sliced.recorded {
        hoist_recorded(&rules.vars, &mut sliced.forward, *local);
    }
    sliced
}

impl Assembly<'_> {
    /// The variables that the reverse sweep of an iteration reads, without the shared arrays that loops in it fill by
    /// themselves.
    pub(super) fn needed_by(&self, reverse: &[Stmt]) -> Needed {
        let vars = &self.rules.vars;
        let fills = |stmt: &Stmt, array: LocalId| {
            let mut is_stored = false;
            walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
                is_stored |= walk::written_places(inner).into_iter().any(|place| own_variable(place) == Some(array));
            });
            stmt.kind.is_loop() && is_stored
        };
        let is_needed = |array: LocalId| {
            let mut mentions =
                reverse.iter().filter(|stmt| vars.mentioned(std::slice::from_ref(stmt)).contains(&array));
            mentions.any(|stmt| !fills(stmt, array))
        };
        let mut needed = vars.mentioned(reverse);
        needed.retain(|local| !self.filled.contains(local) || is_needed(*local));
        needed
    }
}

/// Writes down what was decided for the statements of an iteration.
fn write_down(rules: &mut Rules<'_>, block: &[Stmt], again: &[Again]) {
    for (stmt, again) in block.iter().zip(again) {
        let is_loop = stmt.kind.is_loop();
        let is_assignment = matches!(stmt.kind, StmtKind::Assign { .. });
        let how = match again {
            Again::Left => continue,
            Again::Repeated => How::ComputedAgain,
            Again::Part(_) if is_loop => How::LoopRepeated,
            Again::Part(_) => How::ComputedAgain,
            Again::FirstValue { .. } | Again::Value => How::DependsOnChanged,
            Again::Result { .. } => How::HappensOnce,
            Again::After(_) if is_loop || is_assignment => How::DependsOnChanged,
            Again::After(_) => How::HappensOnce,
            Again::Ways { cond, then, otherwise } => {
                let StmtKind::If { then_block, else_block, .. } = &stmt.kind else { continue };
                if *cond == Condition::Recorded {
                    rules.decide(stmt.span, "the condition", How::DependsOnChanged);
                }
                write_down(rules, then_block, then);
                write_down(rules, else_block, otherwise);
                continue;
            }
        };
        let names: Vec<String> = if let Again::After(recorded) = again {
            recorded.iter().map(|local| rules.vars.name_of(*local)).collect()
        } else if is_loop {
            vec!["the loop".to_owned()]
        } else {
            let declared = walk::declared_local(stmt).map(|local| rules.vars.name_of(local));
            let written = walk::written_places(stmt).into_iter().map(|place| rules.vars.text_of(place));
            declared.into_iter().chain(written).collect()
        };
        names.into_iter().for_each(|name| rules.decide(stmt.span, name, how));
    }
}

/// The parts of a block, by what was planned for its statements.
pub(in crate::transform::reverse) fn carry_out(vars: &mut Variables<'_>, block: &[Stmt], again: &[Again]) -> Sliced {
    let mut parts = Vec::new();
    for (stmt, again) in block.iter().zip(again).rev() {
        let mut part = Sliced::default();
        carry_out_one(vars, stmt, again, &mut part);
        parts.push(part);
    }
    let mut out = Sliced::default();
    for part in parts.into_iter().rev() {
        out.forward.extend(part.forward);
        out.slice.extend(part.slice);
        out.recorded.extend(part.recorded);
    }
    out
}

fn carry_out_one(vars: &mut Variables<'_>, stmt: &Stmt, again: &Again, out: &mut Sliced) {
    match (again, &stmt.kind) {
        (Again::Ways { cond: way, then, otherwise }, StmtKind::If { cond, then_block, else_block }) => {
            let mut then_part = carry_out(vars, then_block, then);
            let else_part = carry_out(vars, else_block, otherwise);
            if leaves_loop(then_block) {
                then_part.slice = then_block.clone();
            }
            let mut cond = cond.clone();
            if *way == Condition::Recorded {
                let taken = vars.add_saved("_taken", Type::Bool);
                out.forward.push(declare(taken, Some(cond)));
                out.recorded.push(taken);
                cond = Expr::load(Place::local(taken, Type::Bool));
            }
            if *way != Condition::Unneeded {
                let repeated = when(cond.clone(), then_part.slice, else_part.slice);
                out.slice.extend(repeated.map(|repeated| repeated.at(stmt.span)));
            }
            let kind = StmtKind::If { cond, then_block: then_part.forward, else_block: else_part.forward };
            out.forward.push(Stmt { kind, span: stmt.span, note: stmt.note.clone() });
            out.recorded.extend(then_part.recorded.into_iter().chain(else_part.recorded));
        }
        (Again::FirstValue { is_copied: true }, StmtKind::Declare { local, init: Some(init) }) => {
            let variable = vars.function.locals[*local].clone();
            let first = vars.add_saved(&variable.name, variable.ty.clone());
            out.forward.push(declare(first, Some(init.clone())).at(stmt.span));
            let (place, source) = (Place::local(*local, variable.ty.clone()), Place::local(first, variable.ty));
            let mut again = vec![declare(*local, None).at(stmt.span)];
            again.extend(vars.copy(&place, &source));
            out.forward.extend(again.clone());
            out.slice.extend(again);
            out.recorded.push(first);
        }
        (Again::Value, StmtKind::Assign { place, value }) => {
            let kept = vars.add_saved(&vars.base_name(place), value.ty.clone());
            let again = assign(place.clone(), Expr::load(Place::local(kept, value.ty.clone()))).at(stmt.span);
            out.forward.push(declare(kept, Some(value.clone())).at(stmt.span));
            out.forward.push(again.clone());
            out.slice.push(again);
            out.recorded.push(kept);
        }
        (again, _) => {
            out.forward.push(stmt.clone());
            carry_out_beside(vars, stmt, again, out);
        }
    }
}

/// What stands beside a statement that the forward sweep runs as it is.
fn carry_out_beside(vars: &mut Variables<'_>, stmt: &Stmt, again: &Again, out: &mut Sliced) {
    match again {
        Again::Left => {}
        Again::Repeated => out.slice.push(stmt.clone()),
        Again::Part(part) => out.slice.push((**part).clone()),
        Again::FirstValue { .. } => out.recorded.extend(walk::declared_local(stmt)),
        Again::Result { into, is_met } => {
            if *is_met {
                let kind = StmtKind::Barrier { kind: BarrierKind::Block, argument: None, into: None };
                out.slice.push(Stmt::new(kind).at(stmt.span));
            }
            let kept = vars.add_saved(&vars.base_name(into), into.ty.clone());
            out.forward.push(declare(kept, Some(Expr::load(into.clone()))));
            out.slice.push(assign(into.clone(), Expr::load(Place::local(kept, into.ty.clone()))));
            out.recorded.push(kept);
        }
        Again::After(recorded) => {
            for local in recorded {
                let variable = vars.function.locals[*local].clone();
                let place = Place::local(*local, variable.ty);
                let kept = vars.copy_in_variable(&variable.name, &place, &mut out.forward);
                let again = Place::local(kept, vars.function.locals[kept].ty.clone());
                out.slice.extend(vars.copy(&place, &again));
                out.recorded.push(kept);
            }
        }
        Again::Value | Again::Ways { .. } => {}
    }
}

/// Recorded variables are there at the end of the iteration, whatever branch declared them.
fn hoist_recorded(vars: &Variables<'_>, forward: &mut Block, local: LocalId) {
    let is_on_top = forward.iter().any(|stmt| walk::declared_local(stmt) == Some(local));
    if is_on_top {
        return;
    }
    assign_where_declared(vars, forward, local);
    let zero = vars.zero(&vars.function.locals[local].ty);
    forward.insert(0, declare(local, Some(zero)));
}

fn assign_where_declared(vars: &Variables<'_>, block: &mut Block, local: LocalId) {
    let mut out = Block::new();
    for mut stmt in std::mem::take(block) {
        let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                assign_where_declared(vars, inner, local);
            }
            ControlFlow::<()>::Continue(())
        });
        if let StmtKind::Declare { local: declared, init } = &stmt.kind
            && *declared == local
        {
            if let Some(init) = init.clone() {
                let place = Place::local(local, vars.function.locals[local].ty.clone());
                vars.assign_leaves(place, init, &mut out);
            }
        } else {
            out.push(stmt);
        }
    }
    *block = out;
}
