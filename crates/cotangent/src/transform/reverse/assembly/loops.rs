//! Loops: the reverse sweep runs the iterations backwards.
//!
//! Each reverse iteration first takes back what the forward iteration recorded, then computes again what else it needs
//! (`plan::again`), then runs the adjoints of the body. Where the order of iterations does not matter for their adjoints, the
//! loop keeps its header as it was written.

use std::collections::{BTreeSet, HashMap};

use super::super::decision::How;
use super::super::frames::{Frame, Known};
use super::super::headers::{
    constant_trips, counter_of, iteration_number, linear, numbered, split_exit, trips, turned, with_body,
};
use super::super::plan::again::{Slicer, cannot_record, pushed_records};
use super::super::plan::loops::{Entry, Iterations, Loop};
use super::super::plan::steps::Step;
use super::super::rules::Pair;
use super::super::stretches::LoopNumber;
use super::super::variables::plain;
use super::super::variables::uses::Needed;
use super::Assembly;
use super::again::{Sliced, take_apart};
use super::block::Changed;
use super::settle::Kept;
use super::steps::{Counted, Steps};
use crate::analysis::{self, Object};
use crate::diagnostic::Diagnostic;
use crate::ir::walk::{self, own_variable};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, LocalId, Place, Space, Stmt, StmtKind, Type, Unroll};
use crate::transform::elements::barrier;
use crate::transform::locals::{assign, copy_block, declare, rename};

/// How the reverse sweep knows the iterations.
enum Count {
    /// From the header, whose expressions, and in the end whose counter, are those of the reverse sweep.
    Header(For),
    /// The forward sweep counts them; the counter is a linear function of the number, or recorded.
    Trips { trips: LocalId, number: LocalId, counter: Option<For> },
}

/// One iteration of the primal.
struct Iteration<'a> {
    body: &'a [Stmt],
    /// The header, where it says on entry how often the loop runs.
    known: Option<&'a Known>,
    /// What it begins with, if it is to be run again from checkpoints; or why that cannot be.
    step: Option<Result<Step, Diagnostic>>,
}

/// What the iterations of the reverse sweep begin with.
struct Entries {
    /// What is recorded.
    rows: Vec<LocalId>,
    /// The variables that stand for what is kept.
    map: HashMap<LocalId, LocalId>,
    /// What the number of the iteration tells.
    numbered: Vec<(LocalId, Formula)>,
}

/// A value that each iteration changes by the same.
struct Formula {
    /// The variable that holds what it was before the loop.
    first: LocalId,
    step: BinaryOp,
    by: Expr,
}

/// Where an iteration's values are recorded.
enum Recorded {
    /// In arrays of the thread, one for each value.
    Arrays(HashMap<LocalId, Place>),
    /// In arrays of a host function, one for each value.
    Flat(HashMap<LocalId, LocalId>),
    /// In global memory, last in first out.
    Stack(LocalId),
}

impl Assembly<'_> {
    /// Both sweeps of a loop. `here` are the objects that it or a later statement of the frame writes.
    pub(in crate::transform::reverse) fn any_loop(
        &mut self,
        stmt: &Stmt,
        body: &Block,
        head: Option<&For>,
        here: &BTreeSet<Object>,
    ) -> Pair {
        let (body, exit) = split_exit(body);
        let declared = self.rules.facts.declared_in(std::slice::from_ref(stmt));
        let reloaded = self.rules.values().reloadable(std::slice::from_ref(stmt), &declared, true);
        for array in &reloaded {
            self.rules.decide(stmt.span, self.rules.vars.name_of(*array), How::FilledAgain);
        }
        let written = analysis::written(self.rules.facts.objects, std::slice::from_ref(stmt));
        let it = Loop { stmt, head, exit, written, declared };
        let is_stepped = self.is_stepped(&it);
        let known = self.known_header(&it, here).filter(|_| !is_stepped);
        let declared = it.declared.clone();
        // Nobody asks for what is only reached by its name: it is kept or recorded where it is read.
        let is_memory = |object: &&Object| !object.as_local().is_some_and(|local| self.rules.vars.is_register(local));
        let unstable = here.iter().filter(is_memory).cloned().collect();
        self.filled.extend(&reloaded);
        let meeting = self.meeting_before_filling(&it, &reloaded);
        self.rules.frames.enter(Frame { is_loop: true, declared, unstable, reloaded, known: known.clone() });
        let pair = self.block(body, &mut Changed::default(), false);
        let mut needed = self.needed_by(&pair.reverse);
        let sliced = if pair.reverse.is_empty() {
            Sliced::default()
        } else {
            take_apart(&mut self.rules, &pair.forward, &mut needed)
        };
        let step = is_stepped.then(|| self.rules.values().step_of_loop(&it, body));
        self.rules.frames.leave();
        if pair.reverse.is_empty() {
            let body = pair.forward.into_iter().chain(exit.cloned()).collect();
            return Pair { forward: vec![with_body(stmt, body)], reverse: Block::new() };
        }
        let iteration = Iteration { body, known: known.as_ref(), step };
        let mut pair = self.both_loops(&it, iteration, pair.reverse, sliced, &needed, here);
        pair.reverse.splice(0..0, meeting);
        pair
    }

    /// Where threads meet before a loop fills shared arrays again that are read after it too: the last barrier of the loop stood
    /// between its last stores and those reads, and the first iteration of the reverse loop stores before it meets.
    fn meeting_before_filling(&self, it: &Loop<'_>, filled: &BTreeSet<LocalId>) -> Option<Stmt> {
        let inside = std::slice::from_ref(it.stmt);
        let all = &self.rules.facts.primal.body;
        let is_read_elsewhere =
            |array: &LocalId| walk::count_mentions(all, *array) > walk::count_mentions(inside, *array);
        if !filled.iter().any(is_read_elsewhere) {
            return None;
        }
        let mut found: Option<Stmt> = None;
        walk::each_stmt(inside, &mut |stmt| match stmt.kind {
            StmtKind::Barrier { kind, .. } if kind.is_of_block() => found = Some(barrier()),
            StmtKind::Barrier { kind, .. } if kind.is_meeting() && found.is_none() => found = Some(stmt.clone()),
            StmtKind::Barrier { .. }
            | StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. }
            | StmtKind::Opaque { .. } => {}
        });
        found
    }

    fn both_loops(
        &mut self,
        it: &Loop<'_>,
        Iteration { body: primal, known, step }: Iteration<'_>,
        adjoints: Block,
        sliced: Sliced,
        needed: &BTreeSet<LocalId>,
        here: &BTreeSet<Object>,
    ) -> Pair {
        let mut kept = Kept::default();
        let mut count = self.count(it, here, &mut kept);
        let Entries { mut rows, mut map, numbered } = self.entry_values(it, needed, here, &mut kept);
        let counter = it.head.map(|head| head.counter);
        if let (Count::Trips { counter: None, .. }, Some(counter)) = (&count, counter)
            && needed.contains(&counter)
        {
            rows.push(counter);
        }
        let entries = rows.len();
        rows.extend(sliced.recorded.iter().copied());
        let flat =
            self.flat_arrays(known.map(|known| &known.head).filter(|_| matches!(count, Count::Header(_))), &rows);
        let is_order_free = matches!(count, Count::Header(_))
            && (rows.is_empty() || flat.is_some())
            && self.rules.values().is_order_free(&adjoints, it);

        let order = if is_order_free { How::Commutes } else { How::Backwards };
        self.rules.decide(it.stmt.span, "order", order);

        let mut before = std::mem::take(&mut kept.declarations);
        let (mut forward, storage) = self.forward_loop(it, &count, (&rows, entries), flat, &sliced, &mut before);
        before.splice(0..0, self.before_outermost());
        if let Count::Trips { trips, .. } = count {
            before.push(declare(trips, Some(Expr::int(0))));
        }
        let stepped = self
            .repeatable(step.filter(|_| !rows.is_empty()))
            .map(|step| self.stepped(it, &count, primal, &step, (&mut forward, &mut before)));
        before.push(forward);
        let [ended, finished] = stepped.as_ref().map(|(steps, _)| self.ends_of_steps(steps)).unwrap_or_default();
        before.extend(ended);

        let mut body = Block::new();
        if !rows.is_empty() {
            let how = match &storage {
                Recorded::Arrays(_) => How::InThread,
                Recorded::Flat(_) => How::InArrays,
                Recorded::Stack(_) => How::InRecord,
            };
            self.rules.decide(it.stmt.span, "record", how);
        }
        let reverse_counter = counter.map(|counter| self.rules.vars.copy_of(counter, &mut map));
        if let (Count::Header(head), Some(counter)) = (&mut count, reverse_counter) {
            head.counter = counter;
        }
        let number = number_of(&count);
        self.take_rows(&rows, &storage, reverse_counter, it, &mut map, &mut body);
        for (local, Formula { first, step, by }) in numbered {
            let ty = self.rules.vars.function.locals[local].ty.clone();
            let steps = Expr::cast(number.clone(), by.ty.clone());
            let steps = if by.as_int() == Some(1) { steps } else { Expr::binary(BinaryOp::Multiply, steps, by) };
            let value = Expr::binary(step, Expr::load(Place::local(first, ty)), steps);
            body.push(declare(self.rules.vars.copy_of(local, &mut map), Some(value)));
        }
        self.private_copies(it, &sliced.slice, &mut map, &mut body);
        let (slice, copies) = copy_block(&sliced.slice, &mut self.rules.vars.function, &mut self.rules.vars.names);
        map.extend(copies);
        let mut iteration = [slice, adjoints].concat();
        rename(&mut iteration, &map);
        self.rules.vars.add_copies(map);
        body.extend(iteration);
        if let Some((steps, recording)) = stepped {
            self.rules.decide(it.stmt.span, "steps", How::FromCheckpoints);
            body = self.reverse_step(it, &steps, [recording, body], &number, counter.zip(reverse_counter));
        }
        let reverse = self.reverse_loop(it, count, is_order_free, reverse_counter, body);
        Pair { forward: before, reverse: [reverse].into_iter().chain(finished).collect() }
    }

    /// Whether the steps of a loop are to be run again from checkpoints.
    fn is_stepped(&self, it: &Loop<'_>) -> bool {
        let frames = &self.rules.frames;
        self.rules.derivatives.options().is_checkpointed
            && self.rules.facts.is_host()
            && !frames.is_in_loop()
            && !frames.is_apart()
            && it.head.and_then(constant_trips).is_none()
    }

    /// What is known about the steps of a loop, if they can be run again; reported if they cannot.
    fn repeatable(&mut self, step: Option<Result<Step, Diagnostic>>) -> Option<Step> {
        match step? {
            Ok(step) => Some(step),
            Err(found) => {
                self.rules.report(found);
                None
            }
        }
    }

    /// Makes of the loop of the forward sweep one that keeps states; returns what each of its iterations did to record.
    fn stepped(
        &mut self,
        it: &Loop<'_>,
        count: &Count,
        primal: &[Stmt],
        step: &Step,
        (forward, before): (&mut Stmt, &mut Block),
    ) -> (Steps, Block) {
        let steps = self.steps(it, primal, step, before);
        let recording = self.recording(it, count, forward);
        let counted = match (count, it.head) {
            (Count::Trips { trips, .. }, _) => Counted::Trips(*trips),
            (Count::Header(head), known) => Counted::Header(known.unwrap_or(head)),
        };
        let body = self.forward_steps(&steps, &counted, it.exit, before);
        *forward = with_body(it.stmt, body);
        (steps, recording)
    }

    /// What one iteration of the forward loop does to record.
    fn recording(&self, it: &Loop<'_>, count: &Count, forward: &Stmt) -> Block {
        let body = forward.kind.loop_body().cloned().unwrap_or_default();
        let counts = usize::from(matches!(count, Count::Trips { .. }));
        let ends = usize::from(it.exit.is_some());
        body[counts..body.len() - ends].to_vec()
    }

    /// What an iteration begins with.
    fn entry_values(&mut self, it: &Loop<'_>, needed: &Needed, here: &BTreeSet<Object>, kept: &mut Kept) -> Entries {
        let (mut rows, mut map, mut numbered) = (Vec::new(), HashMap::new(), Vec::new());
        for (local, entry) in self.rules.values().entries(it, needed, here) {
            match entry {
                Entry::Recorded => {
                    self.rules.decide(it.stmt.span, self.rules.vars.name_of(local), How::ChangedByLoop);
                    if self.rules.values().points_inside(local) {
                        self.rules.report(cannot_record(it.stmt));
                    }
                    rows.push(local);
                }
                Entry::Numbered { step, by } => {
                    self.rules.decide(it.stmt.span, self.rules.vars.name_of(local), How::ByNumber);
                    let place = Place::local(local, self.rules.vars.function.locals[local].ty.clone());
                    let first = self.keep_place(&place, kept);
                    numbered.push((local, Formula { first, step, by: self.settled(&by, here, kept) }));
                }
                Entry::Kept => {
                    self.rules.decide(it.stmt.span, self.rules.vars.name_of(local), How::ChangedAfterLoop);
                    let place = Place::local(local, self.rules.vars.function.locals[local].ty.clone());
                    map.insert(local, self.keep_place(&place, kept));
                }
            }
        }
        Entries { rows, map, numbered }
    }

    fn count(&mut self, it: &Loop<'_>, here: &BTreeSet<Object>, kept: &mut Kept) -> Count {
        let iterations = self.rules.values().iterations(it);
        let how = match iterations {
            Iterations::Header => How::ByHeader,
            Iterations::Formula => How::ByFormula,
            Iterations::Counted => How::ByCounting,
        };
        self.rules.decide(it.stmt.span, "iterations", how);
        let mut settle = |head: &For, is_counted: bool| For {
            from: self.settled(&head.from, here, kept),
            to: if is_counted { self.settled(&head.to, here, kept) } else { head.to.clone() },
            by: self.settled(&head.by, here, kept),
            body: Block::new(),
            ..*head
        };
        let counter = match (iterations, it.head) {
            (Iterations::Header, Some(head)) => return Count::Header(settle(head, true)),
            (Iterations::Formula, Some(head)) => Some(settle(head, false)),
            (Iterations::Header | Iterations::Formula | Iterations::Counted, _) => None,
        };
        let trips = self.rules.vars.add("_trips", Type::INT);
        let number = self.rules.vars.add("_k", Type::INT);
        Count::Trips { trips, number, counter }
    }

    /// The loop of the forward sweep, with what it records.
    fn forward_loop(
        &mut self,
        it: &Loop<'_>,
        count: &Count,
        (rows, entries): (&[LocalId], usize),
        flat: Option<HashMap<LocalId, LocalId>>,
        sliced: &Sliced,
        before: &mut Block,
    ) -> (Stmt, Recorded) {
        let body = sliced.forward.clone();
        if let Some(arrays) = flat {
            let storage = Recorded::Flat(arrays);
            return (self.with_records(it, count, &body, rows, entries, &storage), storage);
        }
        if let Some(arrays) = self.record_arrays(it, count, rows) {
            let whole = self.with_records(it, count, &body, rows, entries, &Recorded::Arrays(arrays.clone()));
            let locals: BTreeSet<LocalId> = arrays.values().filter_map(own_variable).collect();
            let is_repeatable =
                !self.rules.frames.is_in_loop() || Slicer::new(self.rules.values()).can_repeat_loop(&whole, &locals);
            if is_repeatable {
                let mut names: Vec<LocalId> = locals.into_iter().collect();
                names.sort();
                before.extend(names.into_iter().map(|local| {
                    declare(local, None).noted("recorded: the reverse sweep needs these values of each iteration")
                }));
                return (whole, Recorded::Arrays(arrays));
            }
        }
        let record = self.rules.vars.add("_rows", Type::INT);
        let storage = Recorded::Stack(record);
        let whole = self.with_records(it, count, &body, rows, entries, &storage);
        if !rows.is_empty() {
            self.uses_record = true;
            if pushed_records(&whole).len() == 1 {
                let mut slots = 0;
                walk::each_stmt(std::slice::from_ref(&whole), &mut |stmt| {
                    slots += usize::from(matches!(stmt.kind, StmtKind::Push { .. }));
                });
                let number = LoopNumber::of(&self.rules.facts.primal.body, it.stmt);
                self.stacked.extend(number.map(|number| (number, it.stmt.span, slots)));
            }
        }
        (whole, storage)
    }

    /// Arrays of the thread for the values that each iteration records, if the loop is short.
    fn record_arrays(&mut self, it: &Loop<'_>, count: &Count, rows: &[LocalId]) -> Option<HashMap<LocalId, Place>> {
        let (Count::Header(_) | Count::Trips { counter: Some(_), .. }, Some(head)) = (count, it.head) else {
            return None;
        };
        let length = constant_trips(head)?;
        let mut arrays = HashMap::new();
        for row in rows {
            let variable = self.rules.vars.function.locals[*row].clone();
            let ty = Type::Array(Box::new(plain(variable.ty)), length);
            let array = self.rules.vars.add(&format!("{}_record", variable.name), ty.clone());
            arrays.insert(*row, Place::local(array, ty));
        }
        Some(arrays)
    }

    fn with_records(
        &mut self,
        it: &Loop<'_>,
        count: &Count,
        body: &Block,
        rows: &[LocalId],
        entries: usize,
        storage: &Recorded,
    ) -> Stmt {
        let mut out = Block::new();
        if let Count::Trips { trips, .. } = count {
            let place = Place::local(*trips, Type::INT);
            let next = Expr::binary(BinaryOp::Add, Expr::load(place.clone()), Expr::int(1));
            out.push(assign(place, next));
        }
        // What an inner loop pushes lies above what this iteration pushes only if that comes last.
        let is_stack = matches!(storage, Recorded::Stack(_));
        let has_inner = is_stack && body.iter().any(|stmt| !pushed_records(stmt).is_empty());
        let mut last = Block::new();
        for (position, row) in rows.iter().enumerate() {
            let variable = self.rules.vars.function.locals[*row].clone();
            let mut value = Place::local(*row, variable.ty.clone());
            let is_entry = position < entries;
            if is_entry && has_inner {
                let copy = self.rules.vars.copy_in_variable(&format!("{}_in", variable.name), &value, &mut out);
                value = Place::local(copy, self.rules.vars.function.locals[copy].ty.clone());
            }
            let stores = self.record(storage, it, *row, &value);
            if is_entry && !has_inner { out.extend(stores) } else { last.extend(stores) }
        }
        out.extend(body.iter().cloned());
        out.extend(last);
        out.extend(it.exit.cloned());
        with_body(it.stmt, out)
    }

    /// The statements that record one value.
    fn record(&mut self, storage: &Recorded, it: &Loop<'_>, row: LocalId, value: &Place) -> Block {
        match storage {
            Recorded::Arrays(arrays) => {
                let Some(head) = it.head else { return Block::new() };
                let counter = Expr::load(Place::local(head.counter, head.from.ty.clone()));
                self.rules.vars.copy(&arrays[&row].clone().index(iteration_number(head, counter)), value)
            }
            Recorded::Flat(arrays) => {
                let Some(head) = it.head else { return Block::new() };
                let element = self.flat_element(arrays[&row], head, head.counter);
                self.rules.vars.copy(&element, value)
            }
            Recorded::Stack(record) => self.rules.vars.push_values(*record, value),
        }
    }

    /// Takes an iteration's recorded values back, last in first out.
    fn take_rows(
        &mut self,
        rows: &[LocalId],
        storage: &Recorded,
        counter: Option<LocalId>,
        it: &Loop<'_>,
        map: &mut HashMap<LocalId, LocalId>,
        out: &mut Block,
    ) {
        for row in rows.iter().rev() {
            let copy = if Some(*row) == it.head.map(|head| head.counter) {
                map.get(row).copied().unwrap_or(*row)
            } else {
                map.remove(row);
                self.rules.vars.copy_of(*row, map)
            };
            let ty = self.rules.vars.function.locals[copy].ty.clone();
            match storage {
                Recorded::Arrays(arrays) => {
                    let (Some(head), Some(counter)) = (it.head, counter) else { continue };
                    let number = iteration_number(head, Expr::load(Place::local(counter, head.from.ty.clone())));
                    let recorded = arrays[row].clone().index(number);
                    if let Type::Array(..) = ty {
                        out.push(declare(copy, None));
                        out.extend(self.rules.vars.copy(&Place::local(copy, ty), &recorded));
                    } else {
                        out.push(declare(copy, Some(Expr::load(recorded))));
                    }
                }
                Recorded::Flat(arrays) => {
                    let (Some(head), Some(counter)) = (it.head, counter) else { continue };
                    let recorded = self.flat_element(arrays[row], head, counter);
                    out.push(declare(copy, Some(Expr::load(recorded))));
                }
                Recorded::Stack(record) => out.extend(self.rules.vars.pop_values(*record, copy)),
            }
        }
    }

    /// Variables that the repeated statements assign and do not declare get copies, which live as long as the iteration.
    fn private_copies(&mut self, it: &Loop<'_>, slice: &Block, map: &mut HashMap<LocalId, LocalId>, out: &mut Block) {
        let mut declared = BTreeSet::new();
        walk::each_stmt(slice, &mut |stmt| declared.extend(walk::declared_local(stmt)));
        let written: BTreeSet<LocalId> = slice.iter().flat_map(|stmt| self.rules.vars.written_inside(stmt)).collect();
        for local in written {
            let can_copy = self.rules.vars.is_register(local) || it.declared.contains(&local);
            if !declared.contains(&local) && !map.contains_key(&local) && can_copy {
                let copy = self.rules.vars.copy_of(local, map);
                out.push(declare(copy, None));
            }
        }
    }

    fn reverse_loop(
        &mut self,
        it: &Loop<'_>,
        count: Count,
        is_order_free: bool,
        counter: Option<LocalId>,
        mut body: Block,
    ) -> Stmt {
        let kind = match count {
            Count::Header(head) => {
                if is_order_free {
                    For { body, ..head }
                } else if let Some(turned) = turned(&head) {
                    For { body, ..turned }
                } else {
                    let number = self.rules.vars.add("_k", head.from.ty.clone());
                    let first = Expr::load(Place::local(number, head.from.ty.clone()));
                    let one = Expr::new(ExprKind::Int(1), head.from.ty.clone());
                    let index = Expr::binary(BinaryOp::Subtract, first, one.clone());
                    body.insert(0, declare(head.counter, Some(linear(&head, index))));
                    let zero = Expr::new(ExprKind::Int(0), head.from.ty.clone());
                    let turned = numbered(number, trips(&head), BinaryOp::Greater, zero, one, body);
                    For { unroll: head.unroll, ..turned }
                }
            }
            Count::Trips { trips, number, counter: head } => {
                if let (Some(head), Some(counter)) = (head, counter) {
                    let number = Expr::load(Place::local(number, Type::INT));
                    body.insert(0, declare(counter, Some(counter_of(&head, number))));
                }
                let last = Expr::binary(BinaryOp::Subtract, Expr::load(Place::local(trips, Type::INT)), Expr::int(1));
                let turned = numbered(number, last, BinaryOp::GreaterEqual, Expr::int(0), Expr::int(1), body);
                // nvcc leaves a loop alone that may end anywhere, and would unroll this one, for a third more registers.
                let as_forward = (self.rules.facts.primal.space != Space::Host).then_some(Unroll::By(1));
                For { unroll: it.head.and_then(|head| head.unroll).or(as_forward), ..turned }
            }
        };
        Stmt::new(StmtKind::For(Box::new(kind))).at(it.stmt.span)
    }
}

/// The number of an iteration of the reverse sweep, from zero.
fn number_of(count: &Count) -> Expr {
    match count {
        Count::Trips { number, .. } => Expr::load(Place::local(*number, Type::INT)),
        Count::Header(head) => iteration_number(head, Expr::load(Place::local(head.counter, head.from.ty.clone()))),
    }
}
