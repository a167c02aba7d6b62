//! What a reverse iteration gets of the forward sweep, statement by statement.
//!
//! The reverse sweep of a loop begins each iteration by computing again what it needs of the forward sweep. What cannot
//! be computed again, because memory has changed since, is recorded by the forward sweep. A loop inside is repeated
//! whole, or not at all: then what it leaves behind is recorded.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::super::frames::Frame;
use super::super::headers::with_body;
use super::super::variables::uses::Needed;
use super::Values;
use crate::analysis::Object;
use crate::analysis::ordering::has_barrier;
use crate::diagnostic::{CANNOT_RECORD, Diagnostic, INTERNAL};
use crate::ir::walk::{self, Part, own_variable};
use crate::ir::{BarrierKind, Block, Expr, LocalId, Place, PlaceKind, Stmt, StmtKind, Unread};
use crate::source::Span;
use crate::transform::locals::when;
use crate::transform::{Fact, Trust};

/// What becomes of one statement. The forward sweep runs it in any case.
pub(in crate::transform::reverse) enum Again {
    /// The reverse sweep does not need it.
    Left,
    /// The reverse sweep runs it again.
    Repeated,
    /// The reverse sweep runs the part of it that is needed.
    Part(Box<Stmt>),
    /// What a declared variable begins with is recorded; in a variable of its own if the declared one changes.
    FirstValue { is_copied: bool },
    /// What is assigned is recorded, and assigned again.
    Value,
    /// What the statement leaves in a place is recorded. The threads may have to meet again.
    Result { into: Place, is_met: bool },
    /// What it leaves in these variables is recorded.
    After(Vec<LocalId>),
    /// Both ways of an `if`.
    Ways { cond: Condition, then: Vec<Again>, otherwise: Vec<Again> },
}

/// How a repeated `if` knows its way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::transform::reverse) enum Condition {
    /// Nothing of it is repeated.
    Unneeded,
    /// It is tested again.
    Tested,
    /// It is recorded.
    Recorded,
}

/// What a value is needed for decides what happens where it cannot be computed again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// In the iteration itself: it is recorded.
    Iteration,
    /// In a loop inside: that loop is not repeated.
    Inside,
    /// In a kernel of its own that runs first: there is none. Memory is as it was until the thread writes it.
    First,
}

/// Goes through an iteration backwards.
pub(in crate::transform::reverse) struct Slicer<'a> {
    values: Values<'a>,
    /// Memory of all threads that may have changed.
    written: BTreeSet<Object>,
    /// The shared arrays that what follows in the iteration writes.
    stored_later: BTreeSet<LocalId>,
    /// The statement that cannot be repeated, where it is an error that there is one.
    stopped_at: Span,
    pub(in crate::transform::reverse) refused: Vec<Diagnostic>,
    /// Memory of the thread's own that is needed as it was and can neither be filled again nor recorded as a whole.
    pub(in crate::transform::reverse) unfilled: BTreeSet<LocalId>,
    trust: Trust,
}

impl<'a> Slicer<'a> {
    pub(in crate::transform::reverse) fn new(values: Values<'a>) -> Slicer<'a> {
        let written = values.vars.facts.written.clone();
        Slicer {
            values,
            written,
            stored_later: BTreeSet::new(),
            stopped_at: Span::NONE,
            refused: Vec::new(),
            unfilled: BTreeSet::new(),
            trust: values.vars.facts.trust,
        }
    }

    /// What becomes of the statements of an iteration. `needed` are the variables that its reverse sweep reads;
    /// afterwards, those that must have their values at the beginning of the iteration.
    pub(in crate::transform::reverse) fn iteration(&mut self, block: &[Stmt], needed: &mut Needed) -> Vec<Again> {
        let found = self.block(block, needed, Depth::Iteration);
        if found.is_none() {
            let message = "an iteration has a value that is neither computed again nor recorded";
            let help = "this is a bug in Cotangent; please report it with the program that shows it";
            self.refused.push(Diagnostic::new(INTERNAL, self.stopped_at, message, "here").help(help));
        }
        found.unwrap_or_default()
    }

    /// What becomes of the statements of a whole kernel if the needed variables are computed before it has run; else where
    /// they depend on memory that it writes.
    pub(in crate::transform::reverse) fn before_all(
        &mut self,
        block: &[Stmt],
        needed: &mut Needed,
    ) -> Result<Vec<Again>, Span> {
        // Whoever counts has nothing to fall back on.
        self.trust.doubted = self.trust.doubted.filter(|fact| *fact != Fact::Repetition);
        // After a barrier a thread may see what others wrote.
        let depth = if has_barrier(block) {
            Depth::Inside
        } else {
            self.written.clear();
            Depth::First
        };
        self.block(block, needed, depth).ok_or(self.stopped_at)
    }

    /// Whether a loop can be repeated for the values of some variables.
    pub(in crate::transform::reverse) fn can_repeat_loop(&mut self, stmt: &Stmt, needed: &Needed) -> bool {
        self.repeat_loop(stmt, needed).is_some()
    }

    /// None if a loop inside cannot be repeated.
    fn block(&mut self, block: &[Stmt], needed: &mut Needed, depth: Depth) -> Option<Vec<Again>> {
        let mut found = Vec::new();
        let (written, stored_later) = (self.written.clone(), self.stored_later.clone());
        for (position, stmt) in block.iter().enumerate().rev() {
            let next = block.get(position + 1..position + 2).unwrap_or_default();
            self.stored_later.extend(self.values.vars.shared_written(next));
            if depth == Depth::First {
                let is_one_step =
                    matches!(stmt.kind, StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::If { .. });
                let end = if is_one_step { position } else { position + 1 };
                self.written = &written | &self.values.vars.written_memory(&block[..end]);
            }
            let Some(again) = self.stmt(stmt, needed, depth) else {
                if self.stopped_at.is_none() {
                    self.stopped_at = stmt.span;
                }
                self.stored_later = stored_later;
                return None;
            };
            found.push(again);
        }
        (self.written, self.stored_later) = (written, stored_later);
        found.reverse();
        Some(found)
    }

    fn stmt(&mut self, stmt: &Stmt, needed: &mut Needed, depth: Depth) -> Option<Again> {
        if let Some(written) = self.values.vars.written_by_ruled(stmt) {
            return self.once(stmt, &written, needed, depth);
        }
        match &stmt.kind {
            StmtKind::Declare { local, init } => self.declare(stmt, *local, init.as_ref(), needed, depth),
            StmtKind::Assign { place, value } => self.assign(stmt, place, value, needed, depth),
            StmtKind::If { cond, then_block, else_block } => {
                self.branches(cond, [then_block, else_block], needed, depth)
            }
            StmtKind::For(_) | StmtKind::While { .. } => self.inner_loop(stmt, needed, depth),
            StmtKind::Call { into: Some(into), args, .. } => {
                let can_repeat = args.iter().all(|arg| self.can_repeat(arg) && self.can_reach_again(arg));
                let again = self.result(into, can_repeat, needed, depth)?;
                if matches!(again, Again::Repeated) {
                    args.iter().for_each(|arg| needed.extend(self.values.vars.reads(arg)));
                }
                Some(again)
            }
            StmtKind::Barrier { into: Some(into), .. } => {
                // What it counted is recorded; if threads must meet there again, that is all they do.
                let is_met = self.is_filled_again(needed, depth);
                match self.result(into, false, needed, depth)? {
                    Again::Result { into, .. } => Some(Again::Result { into, is_met }),
                    _ if is_met => {
                        let kind = StmtKind::Barrier { kind: BarrierKind::Block, argument: None, into: None };
                        Some(Again::Part(Box::new(Stmt::new(kind).at(stmt.span))))
                    }
                    other @ (Again::Left
                    | Again::Repeated
                    | Again::Part(_)
                    | Again::FirstValue { .. }
                    | Again::Value
                    | Again::After(_)
                    | Again::Ways { .. }) => Some(other),
                }
            }
            StmtKind::Atomic { into: Some(into), .. }
            | StmtKind::Collective { into: Some(into), .. }
            | StmtKind::Opaque { code: Unread::Call(_), into: Some(into), .. } => {
                self.result(into, false, needed, depth)
            }
            // Memory for adjoints is allocated by the sweep that has them.
            StmtKind::Runtime { args, into: Some(into), .. } if self.is_for_adjoints(into) => {
                let can_repeat = args.iter().all(|arg| self.can_repeat(arg));
                let again = self.result(into, can_repeat, needed, depth)?;
                if matches!(again, Again::Repeated) {
                    args.iter().for_each(|arg| needed.extend(self.values.vars.reads(arg)));
                }
                Some(again)
            }
            // They happen once: what they leave in variables is recorded.
            StmtKind::Runtime { .. } | StmtKind::Launch(_) | StmtKind::Opaque { code: Unread::Passed, .. } => {
                let written = self.values.vars.written_by(stmt);
                self.once(stmt, &written, needed, depth)
            }
            // What fills shared memory again does so between the same barriers.
            StmtKind::Barrier { into: None, .. } if self.is_filled_again(needed, depth) => Some(Again::Repeated),
            StmtKind::Barrier { into: None, .. }
            | StmtKind::Call { into: None, .. }
            | StmtKind::Atomic { into: None, .. }
            | StmtKind::Collective { into: None, .. }
            | StmtKind::Opaque { code: Unread::Call(_), into: None, .. }
            | StmtKind::Opaque { code: Unread::Body { .. }, .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => Some(Again::Left),
        }
    }

    /// Whether a place is a pointer to adjoints, which the forward sweep does not have.
    fn is_for_adjoints(&self, into: &Place) -> bool {
        let Values { vars, frames } = self.values;
        frames.is_apart() && own_variable(into).is_some_and(|local| vars.primal_of(local).is_some())
    }

    /// Whether the reverse iteration begins by filling shared memory that is needed.
    fn is_filled_again(&self, needed: &Needed, depth: Depth) -> bool {
        let is_filled = |frame: &Frame| !frame.reloaded.is_disjoint(needed);
        depth == Depth::Iteration && self.values.frames.innermost().is_some_and(is_filled)
    }

    fn declare(
        &mut self,
        stmt: &Stmt,
        local: LocalId,
        init: Option<&Expr>,
        needed: &mut Needed,
        depth: Depth,
    ) -> Option<Again> {
        if !needed.remove(&local) {
            return Some(Again::Left);
        }
        match init {
            Some(init) if !self.can_repeat(init) => {
                if depth != Depth::Iteration {
                    return None;
                }
                self.check_recordable(local, stmt);
                // A pointer to adjoints changes where the pointer does that it follows.
                let written = self.values.vars.followed(local);
                let writes = self.values.vars.facts.locals.write_counts.get(&written);
                Some(Again::FirstValue { is_copied: writes.is_some_and(|count| *count > 1) })
            }
            Some(init) => {
                needed.extend(self.values.vars.reads(init));
                Some(Again::Repeated)
            }
            None => Some(Again::Repeated),
        }
    }

    fn assign(&mut self, stmt: &Stmt, place: &Place, value: &Expr, needed: &mut Needed, depth: Depth) -> Option<Again> {
        if self.values.vars.written_locals(place).is_disjoint(needed) {
            return Some(Again::Left);
        }
        let can_reach = self.can_repeat_operands(place);
        let is_repeated = can_reach && self.can_repeat(value);
        if !is_repeated && depth != Depth::Iteration {
            return None;
        }
        if !can_reach && let Some(local) = own_variable(place) {
            // Which element it was is not known again: all of them are recorded.
            self.check_recordable(local, stmt);
            return Some(Again::After(vec![local]));
        }
        if !can_reach || !is_repeated && own_variable(place).is_some_and(|local| self.values.points_inside(local)) {
            self.refuse_record(stmt);
        }
        if let PlaceKind::Local(local) = place.kind {
            needed.remove(&local);
        }
        if is_repeated {
            needed.extend(self.values.vars.reads(value));
        }
        needed.extend(self.values.vars.operand_reads(place));
        Some(if is_repeated { Again::Repeated } else { Again::Value })
    }

    /// A statement that leaves its result in `into`.
    fn result(&mut self, into: &Place, can_repeat: bool, needed: &mut Needed, depth: Depth) -> Option<Again> {
        if self.values.vars.written_locals(into).is_disjoint(needed) {
            return Some(Again::Left);
        }
        if !can_repeat && depth != Depth::Iteration {
            return None;
        }
        if let PlaceKind::Local(local) = into.kind {
            needed.remove(&local);
        }
        needed.extend(self.values.vars.operand_reads(into));
        Some(if can_repeat { Again::Repeated } else { Again::Result { into: into.clone(), is_met: false } })
    }

    fn branches(&mut self, cond: &Expr, blocks: [&Block; 2], needed: &mut Needed, depth: Depth) -> Option<Again> {
        let mut else_needed = needed.clone();
        let then = self.block(blocks[0], needed, depth)?;
        let otherwise = self.block(blocks[1], &mut else_needed, depth)?;
        needed.extend(else_needed);
        let is_unneeded = !leaves_loop(blocks[0]) && !then.iter().chain(&otherwise).any(Again::is_repeated);
        if is_unneeded {
            return Some(Again::Ways { cond: Condition::Unneeded, then, otherwise });
        }
        if self.can_repeat(cond) {
            needed.extend(self.values.vars.reads(cond));
            return Some(Again::Ways { cond: Condition::Tested, then, otherwise });
        }
        (depth == Depth::Iteration).then_some(Again::Ways { cond: Condition::Recorded, then, otherwise })
    }

    fn inner_loop(&mut self, stmt: &Stmt, needed: &mut Needed, depth: Depth) -> Option<Again> {
        let written = self.values.vars.written_inside(stmt);
        let records = pushed_records(stmt);
        if written.is_disjoint(needed) && records.is_empty() {
            return Some(Again::Left);
        }
        // A loop that records would have to record again: then the space needed were no longer what the forward sweep
        // counts.
        if records.is_empty() {
            if let Some((again, before)) = self.repeat_loop(stmt, needed) {
                *needed = before;
                return Some(Again::Part(Box::new(again)));
            }
            // What stops there is no error: the loop's results are recorded.
            self.stopped_at = Span::NONE;
        }
        self.after(stmt, &written, needed, depth)
    }

    /// A statement that happens once.
    fn once(&mut self, stmt: &Stmt, written: &Needed, needed: &mut Needed, depth: Depth) -> Option<Again> {
        if written.is_disjoint(needed) {
            return Some(Again::Left);
        }
        self.after(stmt, written, needed, depth)
    }

    /// Records what a statement leaves behind that is not repeated.
    fn after(&mut self, stmt: &Stmt, written: &Needed, needed: &mut Needed, depth: Depth) -> Option<Again> {
        if depth != Depth::Iteration {
            return None;
        }
        let recorded: Vec<LocalId> = written.intersection(needed).copied().collect();
        for local in &recorded {
            needed.remove(local);
            self.check_recordable(*local, stmt);
        }
        Some(Again::After(recorded))
    }

    /// The part of a loop that yields the needed variables, and what that needs; none if it cannot be repeated.
    fn repeat_loop(&mut self, stmt: &Stmt, needed: &Needed) -> Option<(Stmt, Needed)> {
        let (heads, body) = match &stmt.kind {
            StmtKind::For(head) => (vec![&head.from, &head.to, &head.by], &head.body),
            StmtKind::While { cond, body, .. } => (vec![cond], body),
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => return None,
        };
        if !heads.iter().all(|head| self.can_repeat(head)) {
            return None;
        }
        let mut all = needed.clone();
        heads.iter().for_each(|head| all.extend(self.values.vars.reads(head)));
        let again = loop {
            let mut inside = all.clone();
            let again = self.block(body, &mut inside, Depth::Inside)?;
            let before = all.len();
            all.extend(inside);
            if all.len() == before {
                break again;
            }
        };
        if let StmtKind::For(head) = &stmt.kind {
            all.remove(&head.counter);
        }
        Some((with_body(stmt, repeated(body, &again)), all))
    }

    /// Whether an expression has the same value when it is evaluated again in the reverse sweep of this iteration.
    fn can_repeat(&self, expr: &Expr) -> bool {
        let can = !walk::loads_any(expr, &mut |place| !self.can_reload(place));
        self.trust.answer(Fact::Repetition, false, can)
    }

    fn can_reload(&self, place: &Place) -> bool {
        let Values { vars, frames } = self.values;
        !vars.is_primal_place(place)
            || vars.facts.objects.of_place(place).iter().all(|object| match object.as_local() {
                Some(local) => {
                    vars.is_register(local) || !frames.is_unstable_memory(object) && !self.stored_later.contains(&local)
                }
                None => !self.has_changed(object),
            })
    }

    /// Whether the memory that an argument leads to is unchanged.
    fn can_reach_again(&self, arg: &Expr) -> bool {
        let Values { vars, frames } = self.values;
        vars.facts.objects.reachable(arg).iter().all(|object| match object.as_local() {
            Some(local) => vars.is_register(local) || !frames.is_unstable_memory(object),
            None => !self.has_changed(object),
        })
    }

    fn has_changed(&self, object: &Object) -> bool {
        let is_written = object.overlaps_any(&self.written);
        self.values.vars.facts.trust.answer(Fact::Memory, true, is_written)
    }

    fn can_repeat_operands(&self, place: &Place) -> bool {
        let mut can = true;
        let _ = walk::place_parts(place, &mut |part| {
            can &= match part {
                Part::Expr(expr) => self.can_repeat(expr),
                Part::Place(base) => self.can_repeat_operands(base),
                Part::Block(_) => true,
            };
            ControlFlow::<()>::Continue(())
        });
        can
    }

    fn check_recordable(&mut self, local: LocalId, stmt: &Stmt) {
        let is_memory = !self.values.vars.is_register(local);
        if is_memory {
            self.unfilled.insert(local);
        }
        if is_memory || self.values.points_inside(local) {
            self.refuse_record(stmt);
        }
    }

    fn refuse_record(&mut self, stmt: &Stmt) {
        self.refused.push(cannot_record(stmt));
    }
}

impl Again {
    /// Whether the reverse sweep runs something in the place of the statement.
    fn is_repeated(&self) -> bool {
        match self {
            Again::Left => false,
            Again::FirstValue { is_copied } => *is_copied,
            Again::After(recorded) => !recorded.is_empty(),
            Again::Ways { cond, .. } => *cond != Condition::Unneeded,
            Again::Repeated | Again::Part(_) | Again::Value | Again::Result { .. } => true,
        }
    }
}

/// Whether a branch is `break` alone.
pub(in crate::transform::reverse) fn leaves_loop(block: &Block) -> bool {
    matches!(block.as_slice(), [Stmt { kind: StmtKind::Break, .. }])
}

/// The statements that are repeated, of a block in which nothing is recorded.
fn repeated(block: &[Stmt], again: &[Again]) -> Block {
    let mut out = Block::new();
    for (stmt, again) in block.iter().zip(again) {
        match again {
            Again::Repeated => out.push(stmt.clone()),
            Again::Part(part) => out.push((**part).clone()),
            Again::Ways { cond: Condition::Tested, then, otherwise } => {
                let StmtKind::If { cond, then_block, else_block } = &stmt.kind else { continue };
                let then_part = if leaves_loop(then_block) { then_block.clone() } else { repeated(then_block, then) };
                let whole = when(cond.clone(), then_part, repeated(else_block, otherwise));
                out.extend(whole.map(|whole| whole.at(stmt.span)));
            }
            Again::Left
            | Again::FirstValue { .. }
            | Again::Value
            | Again::Result { .. }
            | Again::After(_)
            | Again::Ways { .. } => {}
        }
    }
    out
}

/// The records that loops inside a statement fill.
pub(in crate::transform::reverse) fn pushed_records(stmt: &Stmt) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
        if let StmtKind::Push { record, .. } = inner.kind {
            found.insert(record);
        }
    });
    found
}

/// A value that can neither be computed again nor recorded.
pub(in crate::transform::reverse) fn cannot_record(stmt: &Stmt) -> Diagnostic {
    let message = "the reverse sweep needs an array as it was here, and cannot compute it again";
    Diagnostic::new(CANNOT_RECORD, stmt.span, message, "depends on memory that changes later")
        .help("read the memory into variables before the loop, or write to another array")
}
