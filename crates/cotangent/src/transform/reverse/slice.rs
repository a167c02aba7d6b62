//! Which statements of an iteration the reverse sweep repeats, and which values it cannot get that way.
//!
//! The reverse sweep of a loop begins each iteration by computing again what it needs of the forward sweep. What cannot
//! be computed again, because memory has changed since, is recorded by the forward sweep. A loop inside is repeated
//! whole, or not at all: then what it leaves behind is recorded.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::super::locals::{assign, declare};
use super::function::{Ctx, Frame};
use crate::analysis::ordering::has_barrier;
use crate::analysis::{self, Object};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic};
use crate::ir::walk::{self, Node, Part, own_variable};
use crate::ir::{BarrierKind, Block, Expr, ExprKind, LocalId, Place, PlaceKind, Stmt, StmtKind, Type};
use crate::source::Span;

/// One iteration taken apart.
#[derive(Default)]
pub(super) struct Sliced {
    /// What the forward sweep runs: everything, and variables for what is recorded.
    pub(super) forward: Block,
    /// What the reverse sweep repeats.
    pub(super) slice: Block,
    /// Variables of the iteration whose values are recorded, in the order of the text.
    pub(super) recorded: Vec<LocalId>,
    /// The statement that cannot be repeated, where it is an error that there is one.
    stopped_at: Span,
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

pub(super) type Needed = BTreeSet<LocalId>;

impl Ctx<'_> {
    /// Takes an iteration apart. `needed` are the variables that its reverse sweep reads; afterwards, those that must
    /// have their values at the beginning of the iteration.
    pub(super) fn slice(&mut self, block: &[Stmt], needed: &mut Needed) -> Sliced {
        let mut sliced = Sliced::default();
        self.slice_block(block, needed, Depth::Iteration, &mut sliced);
        let recorded = sliced.recorded.clone();
        for local in recorded {
            self.hoist_recorded(&mut sliced.forward, local);
        }
        sliced
    }

    /// The statements of a whole kernel that yield the needed variables before it has run; else where they depend on
    /// memory that it writes.
    pub(super) fn slice_first(&mut self, block: &[Stmt], needed: &mut Needed, out: &mut Sliced) -> Result<(), Span> {
        // After a barrier a thread may see what others wrote.
        let all = self.written.clone();
        // Nobody fills shared memory there.
        let unstable = self.shared_written(&self.primal.body).into_iter().map(Object::local).collect();
        self.frames.push(Frame { unstable, ..Frame::default() });
        let depth = if has_barrier(block) {
            Depth::Inside
        } else {
            self.written.clear();
            Depth::First
        };
        let sliced = self.slice_block(block, needed, depth, out);
        self.frames.pop();
        self.written = all;
        sliced.ok_or(out.stopped_at)
    }

    /// Appends to both parts of `out`. None if a loop inside cannot be repeated.
    fn slice_block(&mut self, block: &[Stmt], needed: &mut Needed, depth: Depth, out: &mut Sliced) -> Option<()> {
        let mut parts = Vec::new();
        let before = self.written.clone();
        let stored_later = self.stored_later.clone();
        for (position, stmt) in block.iter().enumerate().rev() {
            self.stored_later.extend(self.shared_written(block.get(position + 1..position + 2).unwrap_or_default()));
            if depth == Depth::First {
                let is_one_step =
                    matches!(stmt.kind, StmtKind::Declare { .. } | StmtKind::Assign { .. } | StmtKind::If { .. });
                let end = if is_one_step { position } else { position + 1 };
                self.written = before.union(&self.written_memory(&block[..end])).cloned().collect();
            }
            let mut part = Sliced::default();
            if self.slice_stmt(stmt, needed, depth, &mut part).is_none() {
                out.stopped_at = if part.stopped_at.is_none() { stmt.span } else { part.stopped_at };
                self.stored_later = stored_later;
                return None;
            }
            parts.push(part);
        }
        self.written = before;
        self.stored_later = stored_later;
        for part in parts.into_iter().rev() {
            out.forward.extend(part.forward);
            out.slice.extend(part.slice);
            out.recorded.extend(part.recorded);
        }
        Some(())
    }

    fn slice_stmt(&mut self, stmt: &Stmt, needed: &mut Needed, depth: Depth, out: &mut Sliced) -> Option<()> {
        if let Some(written) = self.written_by_ruled(stmt) {
            out.forward.push(stmt.clone());
            return if written.is_disjoint(needed) {
                Some(())
            } else {
                self.record_after(stmt, &written, needed, depth, out)
            };
        }
        match &stmt.kind {
            StmtKind::Declare { local, init } => {
                out.forward.push(stmt.clone());
                if !needed.remove(local) {
                    return Some(());
                }
                match init {
                    Some(init) if !self.can_repeat(init) => {
                        if depth != Depth::Iteration {
                            return None;
                        }
                        self.check_recordable(*local, stmt);
                        self.record_first_value(stmt, *local, init, out);
                    }
                    Some(init) => {
                        needed.extend(self.reads(init));
                        out.slice.push(stmt.clone());
                    }
                    None => out.slice.push(stmt.clone()),
                }
                Some(())
            }
            StmtKind::Assign { place, value } => self.slice_assign(stmt, place, value, needed, depth, out),
            StmtKind::If { cond, then_block, else_block } => {
                self.slice_if(stmt, (cond, then_block, else_block), needed, depth, out)
            }
            StmtKind::For(_) | StmtKind::While { .. } => self.slice_loop(stmt, needed, depth, out),
            StmtKind::Call { into: Some(into), args, .. } => {
                let can_repeat = args.iter().all(|arg| self.can_repeat(arg) && self.can_reach_again(arg));
                self.slice_effect(stmt, into, args, can_repeat, needed, depth, out)
            }
            StmtKind::Barrier { into: Some(into), .. } => {
                // What it counted is recorded; if threads must meet there again, that is all they do.
                if self.is_filled_again(needed, depth) {
                    let kind = StmtKind::Barrier { kind: BarrierKind::Block, argument: None, into: None };
                    out.slice.push(Stmt::new(kind).at(stmt.span));
                }
                self.slice_effect(stmt, into, &[], false, needed, depth, out)
            }
            StmtKind::Atomic { into: Some(into), .. }
            | StmtKind::Collective { into: Some(into), .. }
            | StmtKind::Opaque { into: Some(into), .. } => {
                self.slice_effect(stmt, into, &[], false, needed, depth, out)
            }
            // They happen once: what they leave in variables is recorded.
            StmtKind::Runtime { .. } | StmtKind::Launch(_) => {
                out.forward.push(stmt.clone());
                let written = self.written_by(stmt);
                if written.is_disjoint(needed) {
                    return Some(());
                }
                self.record_after(stmt, &written, needed, depth, out)
            }
            // What fills shared memory again does so between the same barriers.
            StmtKind::Barrier { into: None, .. } => {
                out.forward.push(stmt.clone());
                if self.is_filled_again(needed, depth) {
                    out.slice.push(stmt.clone());
                }
                Some(())
            }
            StmtKind::Call { into: None, .. }
            | StmtKind::Atomic { into: None, .. }
            | StmtKind::Collective { into: None, .. }
            | StmtKind::Opaque { into: None, .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => {
                out.forward.push(stmt.clone());
                Some(())
            }
        }
    }

    /// Whether the reverse iteration begins by filling shared memory that is needed.
    fn is_filled_again(&self, needed: &Needed, depth: Depth) -> bool {
        let is_filled = |frame: &Frame| !frame.reloaded.is_disjoint(needed);
        depth == Depth::Iteration && self.frames.last().is_some_and(is_filled)
    }

    /// Records what a variable begins with: the variable itself, or a copy if it changes before the iteration ends.
    fn record_first_value(&mut self, stmt: &Stmt, local: LocalId, init: &Expr, out: &mut Sliced) {
        let changes = self.write_counts.get(&local).is_some_and(|count| *count > 1);
        if !changes {
            out.recorded.push(local);
            return;
        }
        out.forward.pop();
        let variable = self.function.locals[local].clone();
        let first = self.names.add(&mut self.function, &variable.name, variable.ty.clone());
        out.forward.push(declare(first, Some(init.clone())).at(stmt.span));
        let (place, source) = (Place::local(local, variable.ty.clone()), Place::local(first, variable.ty));
        let mut again = vec![declare(local, None).at(stmt.span)];
        again.extend(self.copy(&place, &source));
        out.forward.extend(again.clone());
        out.slice.extend(again);
        out.recorded.push(first);
    }

    fn slice_assign(
        &mut self,
        stmt: &Stmt,
        place: &Place,
        value: &Expr,
        needed: &mut Needed,
        depth: Depth,
        out: &mut Sliced,
    ) -> Option<()> {
        if self.written_locals(place).is_disjoint(needed) {
            out.forward.push(stmt.clone());
            return Some(());
        }
        let operands = self.operand_reads(place);
        let can_reach = self.can_repeat_operands(place);
        if can_reach && self.can_repeat(value) {
            if let PlaceKind::Local(local) = place.kind {
                needed.remove(&local);
            }
            needed.extend(self.reads(value));
            needed.extend(operands);
            out.forward.push(stmt.clone());
            out.slice.push(stmt.clone());
            return Some(());
        }
        if depth != Depth::Iteration {
            return None;
        }
        if !can_reach || own_variable(place).is_some_and(|local| self.points_inside(local)) {
            self.refuse_record(stmt);
        }
        if let PlaceKind::Local(local) = place.kind {
            needed.remove(&local);
        }
        needed.extend(operands);
        let name = self.base_name(place);
        let kept = self.names.add(&mut self.function, &name, value.ty.clone());
        let again = assign(place.clone(), Expr::load(Place::local(kept, value.ty.clone()))).at(stmt.span);
        out.forward.push(declare(kept, Some(value.clone())).at(stmt.span));
        out.forward.push(again.clone());
        out.slice.push(again);
        out.recorded.push(kept);
        Some(())
    }

    /// A statement that leaves its result in `into`.
    #[expect(clippy::too_many_arguments, reason = "what a slice is made of")]
    fn slice_effect(
        &mut self,
        stmt: &Stmt,
        into: &Place,
        args: &[Expr],
        can_repeat: bool,
        needed: &mut Needed,
        depth: Depth,
        out: &mut Sliced,
    ) -> Option<()> {
        out.forward.push(stmt.clone());
        if self.written_locals(into).is_disjoint(needed) {
            return Some(());
        }
        if !can_repeat && depth != Depth::Iteration {
            return None;
        }
        if let PlaceKind::Local(local) = into.kind {
            needed.remove(&local);
        }
        needed.extend(self.operand_reads(into));
        if can_repeat {
            args.iter().for_each(|arg| needed.extend(self.reads(arg)));
            out.slice.push(stmt.clone());
        } else {
            let name = self.base_name(into);
            let kept = self.names.add(&mut self.function, &name, into.ty.clone());
            out.forward.push(declare(kept, Some(Expr::load(into.clone()))));
            out.slice.push(assign(into.clone(), Expr::load(Place::local(kept, into.ty.clone()))));
            out.recorded.push(kept);
        }
        Some(())
    }

    fn slice_if(
        &mut self,
        stmt: &Stmt,
        (cond, then_block, else_block): (&Expr, &Block, &Block),
        needed: &mut Needed,
        depth: Depth,
        out: &mut Sliced,
    ) -> Option<()> {
        let mut else_needed = needed.clone();
        let (mut then_part, mut else_part) = (Sliced::default(), Sliced::default());
        for (block, needed, part) in
            [(then_block, &mut *needed, &mut then_part), (else_block, &mut else_needed, &mut else_part)]
        {
            if self.slice_block(block, needed, depth, part).is_none() {
                out.stopped_at = part.stopped_at;
                return None;
            }
        }
        needed.extend(else_needed);
        let leaves_loop = matches!(then_block.as_slice(), [Stmt { kind: StmtKind::Break, .. }]);
        if leaves_loop {
            then_part.slice = then_block.clone();
        }
        let mut cond = cond.clone();
        if !then_part.slice.is_empty() || !else_part.slice.is_empty() {
            if self.can_repeat(&cond) {
                needed.extend(self.reads(&cond));
            } else if depth != Depth::Iteration {
                return None;
            } else {
                let taken = self.names.add(&mut self.function, "_taken", Type::Bool);
                out.forward.push(declare(taken, Some(cond)));
                out.recorded.push(taken);
                cond = Expr::load(Place::local(taken, Type::Bool));
            }
            let (then_block, else_block) = (then_part.slice, else_part.slice);
            out.slice.extend(super::expr::when(cond.clone(), then_block, else_block).map(|again| again.at(stmt.span)));
        }
        let kind = StmtKind::If { cond, then_block: then_part.forward, else_block: else_part.forward };
        out.forward.push(Stmt { kind, span: stmt.span, note: stmt.note.clone() });
        out.recorded.extend(then_part.recorded.into_iter().chain(else_part.recorded));
        Some(())
    }

    fn slice_loop(&mut self, stmt: &Stmt, needed: &mut Needed, depth: Depth, out: &mut Sliced) -> Option<()> {
        out.forward.push(stmt.clone());
        let written = self.written_inside(stmt);
        let records = pushed_records(stmt);
        if written.is_disjoint(needed) && records.is_empty() {
            return Some(());
        }
        // A loop that records would have to record again: then the space needed were no longer what the forward sweep
        // counts.
        if records.is_empty()
            && let Some((again, before)) = self.repeat_loop(stmt, needed)
        {
            *needed = before;
            out.slice.push(again);
            return Some(());
        }
        self.record_after(stmt, &written, needed, depth, out)
    }

    /// Records what a statement leaves behind that is not repeated.
    fn record_after(
        &mut self,
        stmt: &Stmt,
        written: &Needed,
        needed: &mut Needed,
        depth: Depth,
        out: &mut Sliced,
    ) -> Option<()> {
        if depth != Depth::Iteration {
            return None;
        }
        for local in written.intersection(&needed.clone()) {
            needed.remove(local);
            self.check_recordable(*local, stmt);
            let place = Place::local(*local, self.function.locals[*local].ty.clone());
            let name = self.function.locals[*local].name.to_string();
            let kept = self.copy_in_variable(&name, &place, &mut out.forward);
            let again = Place::local(kept, self.function.locals[kept].ty.clone());
            out.slice.extend(self.copy(&place, &again));
            out.recorded.push(kept);
        }
        Some(())
    }

    /// The part of a loop that yields the needed variables, and what that needs; none if it cannot be repeated.
    fn repeat_loop(&mut self, stmt: &Stmt, needed: &Needed) -> Option<(Stmt, Needed)> {
        let mut again = stmt.clone();
        let mut all = needed.clone();
        let heads: Vec<Expr> = match &stmt.kind {
            StmtKind::For(for_loop) => vec![for_loop.from.clone(), for_loop.to.clone(), for_loop.by.clone()],
            StmtKind::While { cond, .. } => vec![cond.clone()],
            _ => Vec::new(),
        };
        if !heads.iter().all(|head| self.can_repeat(head)) {
            return None;
        }
        heads.iter().for_each(|head| all.extend(self.reads(head)));
        let body = match &stmt.kind {
            StmtKind::For(for_loop) => &for_loop.body,
            StmtKind::While { body, .. } => body,
            _ => return None,
        };
        loop {
            let mut inside = all.clone();
            let mut part = Sliced::default();
            self.slice_block(body, &mut inside, Depth::Inside, &mut part)?;
            let before = all.len();
            all.extend(inside);
            if all.len() == before {
                match &mut again.kind {
                    StmtKind::For(for_loop) => for_loop.body = part.slice,
                    StmtKind::While { body, .. } => *body = part.slice,
                    _ => return None,
                }
                break;
            }
        }
        if let StmtKind::For(for_loop) = &stmt.kind {
            all.remove(&for_loop.counter);
        }
        Some((again, all))
    }

    /// Whether a loop can be repeated for the values of some variables.
    pub(super) fn can_repeat_loop(&mut self, stmt: &Stmt, needed: &Needed) -> bool {
        self.repeat_loop(stmt, needed).is_some()
    }

    /// Whether an expression has the same value when it is evaluated again in the reverse sweep of this iteration.
    fn can_repeat(&self, expr: &Expr) -> bool {
        walk::visit_expr(expr, &mut |node| match node {
            Node::Expr(Expr { kind: ExprKind::Load(place), .. }) if !self.can_reload(place) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .is_continue()
    }

    fn can_reload(&self, place: &Place) -> bool {
        !self.is_primal_place(place)
            || self.objects.of_place(place).iter().all(|object| match object.as_local() {
                Some(local) => {
                    self.is_register(local) || !self.is_unstable_memory(object) && !self.stored_later.contains(&local)
                }
                None => !self.is_volatile(object),
            })
    }

    /// Whether the memory that an argument leads to is unchanged.
    fn can_reach_again(&self, arg: &Expr) -> bool {
        self.objects.reachable(arg).iter().all(|object| match object.as_local() {
            Some(local) => self.is_register(local) || !self.is_unstable_memory(object),
            None => !self.is_volatile(object),
        })
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

    /// The variables that an expression reads, those behind pointers included.
    pub(super) fn reads(&self, expr: &Expr) -> Needed {
        let mut found = Needed::new();
        let _ = walk::visit_expr(expr, &mut |node| {
            self.note_read(node, &mut found);
            ControlFlow::<()>::Continue(())
        });
        if expr.ty.is_pointer() {
            found.extend(self.objects.reachable(expr).iter().filter_map(|object| object.as_local()));
        }
        found
    }

    /// The variables that a block reads or writes.
    pub(super) fn mentioned(&self, block: &[Stmt]) -> Needed {
        let mut found = Needed::new();
        let _ = walk::visit_block(block, &mut |node| {
            self.note_read(node, &mut found);
            ControlFlow::<()>::Continue(())
        });
        found
    }

    fn note_read(&self, node: Node<'_>, found: &mut Needed) {
        let Node::Place(place) = node else { return };
        if let PlaceKind::Local(local) = place.kind {
            found.insert(local);
        }
        if matches!(place.kind, PlaceKind::Element(..)) && self.is_primal_place(place) {
            found.extend(self.objects.of_place(place).iter().filter_map(|object| object.as_local()));
        }
    }

    fn operand_reads(&self, place: &Place) -> Needed {
        let mut found = Needed::new();
        let _ = walk::place_parts(place, &mut |part| {
            match part {
                Part::Expr(expr) => found.extend(self.reads(expr)),
                Part::Place(base) => found.extend(self.operand_reads(base)),
                Part::Block(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        found
    }

    /// The thread's own variables that an assignment to a place may change.
    pub(super) fn written_locals(&self, place: &Place) -> Needed {
        match own_variable(place) {
            Some(local) => Needed::from([local]),
            None if self.is_primal_place(place) => {
                self.objects.of_place(place).iter().filter_map(|object| object.as_local()).collect()
            }
            None => Needed::new(),
        }
    }

    /// The variables from outside a statement that it may change.
    pub(super) fn written_inside(&self, stmt: &Stmt) -> Needed {
        let mut found = Needed::new();
        let mut declared = Needed::new();
        walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
            declared.extend(walk::declared_local(inner));
            found.extend(self.written_by(inner));
        });
        &found - &declared
    }

    /// The variables that a statement itself may change, also those whose address it hands to the runtime.
    fn written_by(&self, stmt: &Stmt) -> Needed {
        analysis::stmt_writes(self.objects, stmt).iter().filter_map(Object::as_local).collect()
    }

    /// The memory that statements of a derivative may write; what is not the primal program's own counts as all.
    fn written_memory(&self, block: &[Stmt]) -> BTreeSet<Object> {
        let mut found = BTreeSet::new();
        walk::each_stmt(block, &mut |stmt| {
            for place in walk::written_places(stmt) {
                if self.is_primal_place(place) {
                    found.extend(self.objects.of_place(place));
                } else if own_variable(place).is_none() {
                    found.extend(analysis::written(self.objects, &self.primal.body));
                }
            }
            if let StmtKind::Call { function, .. } = stmt.kind
                && (self.module.functions.get(function).is_none() || self.module.rule(function).is_some())
            {
                found.extend(analysis::written(self.objects, &self.primal.body));
            }
        });
        found
    }

    /// Declarations of variables that repeated statements assign without declaring them: one that is given its value
    /// later than it is declared has lost its declaration.
    pub(super) fn undeclared(&self, slice: &Block) -> Block {
        let mut declared: BTreeSet<LocalId> = self.primal.params.iter().copied().collect();
        walk::each_stmt(slice, &mut |stmt| declared.extend(walk::declared_local(stmt)));
        let written: BTreeSet<LocalId> = slice.iter().flat_map(|stmt| self.written_inside(stmt)).collect();
        written.difference(&declared).map(|local| declare(*local, None)).collect()
    }

    /// Recorded variables are there at the end of the iteration, whatever branch declared them.
    fn hoist_recorded(&mut self, forward: &mut Block, local: LocalId) {
        let is_on_top = forward.iter().any(|stmt| walk::declared_local(stmt) == Some(local));
        if is_on_top {
            return;
        }
        let ty = self.function.locals[local].ty.clone();
        self.assign_where_declared(forward, local);
        let zero = self.zero(&ty);
        forward.insert(0, declare(local, Some(zero)));
    }

    fn assign_where_declared(&self, block: &mut Block, local: LocalId) {
        let mut out = Block::new();
        for mut stmt in std::mem::take(block) {
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let walk::PartMut::Block(inner) = part {
                    self.assign_where_declared(inner, local);
                }
                ControlFlow::<()>::Continue(())
            });
            match stmt.kind {
                StmtKind::Declare { local: declared, init } if declared == local => {
                    if let Some(init) = init {
                        let place = Place::local(local, self.function.locals[local].ty.clone());
                        self.assign_leaves(place, init, &mut out);
                    }
                }
                kind => out.push(Stmt { kind, ..stmt }),
            }
        }
        *block = out;
    }

    fn check_recordable(&mut self, local: LocalId, stmt: &Stmt) {
        if !self.is_register(local) || self.points_inside(local) {
            self.refuse_record(stmt);
        }
    }

    /// Whether a pointer may point to a variable of an iteration, which is another one in the reverse sweep.
    pub(super) fn points_inside(&self, local: LocalId) -> bool {
        let followed = self.twins.get(&local).copied().unwrap_or(local);
        if !self.is_primal(followed) {
            return false;
        }
        let load = Expr::load(Place::local(followed, self.primal.locals[followed].ty.clone()));
        let reached = self.objects.reachable(&load);
        let lives_inside = |target| self.frames.iter().any(|frame| frame.is_loop && frame.declared.contains(&target));
        reached.iter().filter_map(|object| object.as_local()).any(lives_inside)
    }

    pub(super) fn refuse_record(&mut self, stmt: &Stmt) {
        let message = "the reverse sweep needs an array as it was here, and cannot compute it again";
        self.report(
            Diagnostic::new(CANNOT_RECORD, stmt.span, message, "depends on memory that changes later")
                .help("read the memory into variables before the loop, or write to another array"),
        );
    }
}

/// The records that loops inside a statement fill.
pub(super) fn pushed_records(stmt: &Stmt) -> BTreeSet<LocalId> {
    let mut found = BTreeSet::new();
    walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
        if let StmtKind::Push { record, .. } = inner.kind {
            found.insert(record);
        }
    });
    found
}
