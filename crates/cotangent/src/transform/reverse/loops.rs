//! Loops: the reverse sweep runs the iterations backwards.
//!
//! Each reverse iteration first takes back what the forward iteration recorded, then computes again what else it needs
//! (`slice`), then runs the adjoints of the body. Where the order of iterations does not matter for their adjoints, the
//! loop keeps its header as it was written.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::locals::{assign, copy_block, declare, rename};
use super::function::{Ctx, Frame, Pair, plain};
use super::slice::{Sliced, pushed_records};
use super::stable::Kept;
use crate::analysis::{self, Object};
use crate::ir::walk::{self, own_variable};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, LocalId, Place, Stmt, StmtKind, Type};

/// Recorded values of loops with at most so many iterations, known beforehand, stay in the thread.
const MAX_LOCAL_RECORD: i128 = 64;

/// A loop of the primal program.
struct Loop<'a> {
    stmt: &'a Stmt,
    head: Option<&'a For>,
    exit: Option<&'a Stmt>,
    /// Objects that it writes.
    written: BTreeSet<Object>,
    /// Variables that live inside.
    declared: HashSet<LocalId>,
}

/// How the reverse sweep knows the iterations.
enum Count {
    /// From the header, whose expressions are those of the reverse sweep.
    Header(For),
    /// The forward sweep counts them; the counter is a linear function of the number, or recorded.
    Trips { trips: LocalId, counter: Option<For> },
}

/// Where an iteration's values are recorded.
enum Storage {
    /// In arrays of the thread, one for each value.
    Arrays(HashMap<LocalId, Place>),
    /// In global memory, last in first out.
    Stack(LocalId),
}

impl Ctx<'_> {
    /// Both sweeps of a loop. `here` are the objects that it or a later statement of the frame writes.
    pub(super) fn any_loop(&mut self, stmt: &Stmt, body: &Block, head: Option<&For>, here: &BTreeSet<Object>) -> Pair {
        let (body, exit) = split_exit(body);
        let declared = self.declared_in(std::slice::from_ref(stmt));
        let reloaded = self.reloadable(std::slice::from_ref(stmt), &declared, true);
        let written = analysis::written(self.objects, std::slice::from_ref(stmt));
        self.frames.push(Frame { is_loop: true, declared: declared.clone(), unstable: here.clone(), reloaded });
        let pair = self.block(body, &BTreeSet::new(), false);
        let mut needed = self.mentioned(&pair.reverse);
        let sliced = if pair.reverse.is_empty() { Sliced::default() } else { self.slice(&pair.forward, &mut needed) };
        self.frames.pop();
        if pair.reverse.is_empty() {
            let body = pair.forward.into_iter().chain(exit.cloned()).collect();
            return Pair { forward: vec![with_body(stmt, body)], reverse: Block::new() };
        }
        let it = Loop { stmt, head, exit, written, declared };
        self.both_loops(&it, pair.reverse, sliced, &needed, here)
    }

    fn both_loops(
        &mut self,
        it: &Loop<'_>,
        adjoints: Block,
        sliced: Sliced,
        needed: &BTreeSet<LocalId>,
        here: &BTreeSet<Object>,
    ) -> Pair {
        let mut kept = Kept::default();
        let count = self.count(it, here, &mut kept);
        let (mut rows, mut map) = self.entry_values(it, needed, here, &mut kept);
        let counter = it.head.map(|head| head.counter);
        if let (Count::Trips { counter: None, .. }, Some(counter)) = (&count, counter)
            && needed.contains(&counter)
        {
            rows.push(counter);
        }
        let entries = rows.len();
        rows.extend(sliced.recorded.iter().copied());
        let is_order_free = rows.is_empty() && self.is_order_free(&adjoints, &it.declared);

        let mut before = std::mem::take(&mut kept.declarations);
        let (forward, storage) = self.forward_loop(it, &count, (&rows, entries), &sliced, &mut before);
        if let Count::Trips { trips, .. } = count {
            before.push(declare(trips, Some(Expr::int(0))));
        }
        before.push(forward);

        let mut body = Block::new();
        let reverse_counter = counter.map(|counter| self.copy_of(counter, &mut map));
        self.take_rows(&rows, &storage, reverse_counter, it, &mut map, &mut body);
        self.private_copies(it, &sliced.slice, &mut map, &mut body);
        let (slice, copies) = copy_block(&sliced.slice, &mut self.function, &mut self.names);
        map.extend(copies);
        let mut iteration = [slice, adjoints].concat();
        rename(&mut iteration, &map);
        let first = |local: LocalId| self.originals.get(&local).copied().unwrap_or(local);
        let originals: Vec<_> = map.into_iter().map(|(original, copy)| (copy, first(original))).collect();
        self.originals.extend(originals);
        body.extend(iteration);
        let reverse = self.reverse_loop(it, count, is_order_free, reverse_counter, body);
        Pair { forward: before, reverse: vec![reverse] }
    }

    /// The values that an iteration must begin with: recorded if the loop changes them, else kept once.
    fn entry_values(
        &mut self,
        it: &Loop<'_>,
        needed: &BTreeSet<LocalId>,
        here: &BTreeSet<Object>,
        kept: &mut Kept,
    ) -> (Vec<LocalId>, HashMap<LocalId, LocalId>) {
        let (mut rows, mut map) = (Vec::new(), HashMap::new());
        for local in needed.iter().filter(|local| !it.declared.contains(local)) {
            let followed = self.twins.get(local).copied().unwrap_or(*local);
            let object = Object::local(followed);
            if !self.is_primal(followed) || !self.is_register(*local) {
                continue;
            }
            if it.written.contains(&object) {
                if self.points_inside(*local) {
                    self.refuse_record(it.stmt);
                }
                rows.push(*local);
            } else if here.contains(&object) {
                let place = Place::local(*local, self.function.locals[*local].ty.clone());
                map.insert(*local, self.keep_place(&place, kept));
            }
        }
        (rows, map)
    }

    fn count(&mut self, it: &Loop<'_>, here: &BTreeSet<Object>, kept: &mut Kept) -> Count {
        let known = it.head.filter(|head| self.has_formula(head, &it.written));
        let is_counted = it.exit.is_none()
            && known.is_some_and(|head| {
                head.to.ty == head.from.ty
                    && !self.changes(&head.to, &it.written)
                    && !self.reads(&head.to).contains(&head.counter)
                    && matches!(
                        (head.step, head.test),
                        (BinaryOp::Add, BinaryOp::Less | BinaryOp::LessEqual)
                            | (BinaryOp::Subtract, BinaryOp::Greater | BinaryOp::GreaterEqual)
                    )
            });
        let mut settle = |head: &For, ctx: &mut Self| For {
            from: ctx.settled(&head.from, here, kept),
            to: if is_counted { ctx.settled(&head.to, here, kept) } else { head.to.clone() },
            by: ctx.settled(&head.by, here, kept),
            body: Block::new(),
            ..*head
        };
        match known {
            Some(head) if is_counted => Count::Header(settle(head, self)),
            _ => {
                let counter = known.map(|head| settle(head, self));
                let trips = self.names.add(&mut self.function, "_trips", Type::INT);
                Count::Trips { trips, counter }
            }
        }
    }

    /// Whether a counter is a simple function of the number of the iteration: a linear one, or a shift.
    fn has_formula(&self, head: &For, written: &BTreeSet<Object>) -> bool {
        let is_simple = match head.step {
            BinaryOp::Add | BinaryOp::Subtract => head.by.ty == head.from.ty,
            BinaryOp::Multiply | BinaryOp::Divide => constant_int(&head.by) == Some(2) && keeps_bits(head),
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => constant_int(&head.by) == Some(1) && keeps_bits(head),
            _ => false,
        };
        matches!(self.function.locals[head.counter].ty, Type::Int(_))
            && is_simple
            && !self.changes(&head.by, written)
            && !self.reads(&head.by).contains(&head.counter)
    }

    /// The loop of the forward sweep, with what it records.
    fn forward_loop(
        &mut self,
        it: &Loop<'_>,
        count: &Count,
        (rows, entries): (&[LocalId], usize),
        sliced: &Sliced,
        before: &mut Block,
    ) -> (Stmt, Storage) {
        let body = sliced.forward.clone();
        if let Some(arrays) = self.record_arrays(it, count, rows) {
            let whole = self.with_records(it, count, &body, rows, entries, &Storage::Arrays(arrays.clone()));
            let locals: BTreeSet<LocalId> = arrays.values().filter_map(own_variable).collect();
            let is_repeatable = !self.frames.iter().any(|frame| frame.is_loop) || self.can_repeat_loop(&whole, &locals);
            if is_repeatable {
                let mut names: Vec<LocalId> = locals.into_iter().collect();
                names.sort();
                before.extend(names.into_iter().map(|local| {
                    declare(local, None).noted("recorded: the reverse sweep needs these values of each iteration")
                }));
                return (whole, Storage::Arrays(arrays));
            }
        }
        let record = self.names.add(&mut self.function, "_rows", Type::INT);
        let storage = Storage::Stack(record);
        if !rows.is_empty() {
            self.uses_record = true;
        }
        (self.with_records(it, count, &body, rows, entries, &storage), storage)
    }

    /// Arrays of the thread for the values that each iteration records, if the loop is short.
    fn record_arrays(&mut self, it: &Loop<'_>, count: &Count, rows: &[LocalId]) -> Option<HashMap<LocalId, Place>> {
        let (Count::Header(_) | Count::Trips { counter: Some(_), .. }, Some(head)) = (count, it.head) else {
            return None;
        };
        let length = constant_trips(head)?;
        let mut arrays = HashMap::new();
        for row in rows {
            let variable = self.function.locals[*row].clone();
            let ty = Type::Array(Box::new(plain(variable.ty)), length);
            let array = self.names.add(&mut self.function, &format!("{}_record", variable.name), ty.clone());
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
        storage: &Storage,
    ) -> Stmt {
        let mut out = Block::new();
        if let Count::Trips { trips, .. } = count {
            let place = Place::local(*trips, Type::INT);
            let next = Expr::binary(BinaryOp::Add, Expr::load(place.clone()), Expr::int(1));
            out.push(assign(place, next));
        }
        // What an inner loop pushes lies above what this iteration pushes only if that comes last.
        let has_inner = body.iter().any(|stmt| !pushed_records(stmt).is_empty());
        let mut last = Block::new();
        for (position, row) in rows.iter().enumerate() {
            let variable = self.function.locals[*row].clone();
            let mut value = Place::local(*row, variable.ty.clone());
            let is_entry = position < entries;
            if is_entry && has_inner {
                let copy = self.copy_in_variable(&format!("{}_in", variable.name), &value, &mut out);
                value = Place::local(copy, self.function.locals[copy].ty.clone());
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
    fn record(&self, storage: &Storage, it: &Loop<'_>, row: LocalId, value: &Place) -> Block {
        match storage {
            Storage::Arrays(arrays) => {
                let Some(head) = it.head else { return Block::new() };
                let counter = Expr::load(Place::local(head.counter, head.from.ty.clone()));
                self.copy(&arrays[&row].clone().index(iteration_number(head, counter)), value)
            }
            Storage::Stack(record) => self.push_values(*record, value),
        }
    }

    /// Takes an iteration's recorded values back, last in first out.
    fn take_rows(
        &mut self,
        rows: &[LocalId],
        storage: &Storage,
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
                self.copy_of(*row, map)
            };
            let ty = self.function.locals[copy].ty.clone();
            match storage {
                Storage::Arrays(arrays) => {
                    let (Some(head), Some(counter)) = (it.head, counter) else { continue };
                    let number = iteration_number(head, Expr::load(Place::local(counter, head.from.ty.clone())));
                    let recorded = arrays[row].clone().index(number);
                    if let Type::Array(..) = ty {
                        out.push(declare(copy, None));
                        out.extend(self.copy(&Place::local(copy, ty), &recorded));
                    } else {
                        out.push(declare(copy, Some(Expr::load(recorded))));
                    }
                }
                Storage::Stack(record) => out.extend(self.pop_values(*record, copy)),
            }
        }
    }

    /// Variables that the repeated statements assign and do not declare get copies, which live as long as the iteration.
    fn private_copies(&mut self, it: &Loop<'_>, slice: &Block, map: &mut HashMap<LocalId, LocalId>, out: &mut Block) {
        let mut declared = BTreeSet::new();
        walk::each_stmt(slice, &mut |stmt| declared.extend(walk::declared_local(stmt)));
        let written: BTreeSet<LocalId> = slice.iter().flat_map(|stmt| self.written_inside(stmt)).collect();
        for local in written {
            let can_copy = self.is_register(local) || it.declared.contains(&local);
            if !declared.contains(&local) && !map.contains_key(&local) && can_copy {
                let copy = self.copy_of(local, map);
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
        let kind = match (count, counter) {
            (Count::Header(head), Some(counter)) => {
                let head = For { counter, ..head };
                if is_order_free {
                    For { body, ..head }
                } else if let Some(turned) = turned(&head) {
                    For { body, ..turned }
                } else {
                    let number = self.names.add(&mut self.function, "_k", head.from.ty.clone());
                    let first = Expr::load(Place::local(number, head.from.ty.clone()));
                    let one = Expr::new(ExprKind::Int(1), head.from.ty.clone());
                    let index = Expr::binary(BinaryOp::Subtract, first, one.clone());
                    body.insert(0, declare(counter, Some(linear(&head, index))));
                    let zero = Expr::new(ExprKind::Int(0), head.from.ty.clone());
                    numbered(number, trips(&head), BinaryOp::Greater, zero, one, body)
                }
            }
            (Count::Header(head), None) => head,
            (Count::Trips { trips, counter: head }, counter) => {
                let number = self.names.add(&mut self.function, "_k", Type::INT);
                if let (Some(head), Some(counter)) = (head, counter) {
                    let number = Expr::load(Place::local(number, Type::INT));
                    body.insert(0, declare(counter, Some(counter_of(&head, number))));
                }
                let last = Expr::binary(BinaryOp::Subtract, Expr::load(Place::local(trips, Type::INT)), Expr::int(1));
                numbered(number, last, BinaryOp::GreaterEqual, Expr::int(0), Expr::int(1), body)
            }
        };
        Stmt::new(StmtKind::For(Box::new(kind))).at(it.stmt.span)
    }

    /// A variable that takes the place of another in the reverse sweep.
    fn copy_of(&mut self, local: LocalId, map: &mut HashMap<LocalId, LocalId>) -> LocalId {
        if let Some(copy) = map.get(&local) {
            return *copy;
        }
        let variable = self.function.locals[local].clone();
        let copy = self.names.add(&mut self.function, &variable.name, plain(variable.ty));
        map.insert(local, copy);
        copy
    }
}

/// The body without an `if (c) break;` at its end, and that.
fn split_exit(body: &[Stmt]) -> (&[Stmt], Option<&Stmt>) {
    match body.split_last() {
        Some((last, rest)) => match &last.kind {
            StmtKind::If { then_block, .. }
                if matches!(then_block.as_slice(), [Stmt { kind: StmtKind::Break, .. }]) =>
            {
                (rest, Some(last))
            }
            _ => (body, None),
        },
        None => (body, None),
    }
}

/// The same loop with another body.
fn with_body(stmt: &Stmt, body: Block) -> Stmt {
    let mut stmt = stmt.clone();
    match &mut stmt.kind {
        StmtKind::For(head) => head.body = body,
        StmtKind::While { body: inner, .. } => *inner = body,
        _ => {}
    }
    stmt
}

pub(super) fn constant_int(expr: &Expr) -> Option<i128> {
    match expr.kind {
        ExprKind::Int(value) => Some(value),
        _ => None,
    }
}

/// How often a loop runs, if its header says so and it is not often.
fn constant_trips(head: &For) -> Option<u64> {
    let (from, to, by) = (constant_int(&head.from)?, constant_int(&head.to)?, constant_int(&head.by)?);
    let distance = match (head.step, head.test) {
        (BinaryOp::Add, BinaryOp::Less) => to - from,
        (BinaryOp::Add, BinaryOp::LessEqual) => to - from + 1,
        (BinaryOp::Subtract, BinaryOp::Greater) => from - to,
        (BinaryOp::Subtract, BinaryOp::GreaterEqual) => from - to + 1,
        _ => return None,
    };
    let trips = if by > 0 { (distance + by - 1).div_euclid(by) } else { return None };
    (1..=MAX_LOCAL_RECORD).contains(&trips).then(|| u64::try_from(trips).unwrap_or(0))
}

/// The number of an iteration, from its counter.
fn iteration_number(head: &For, counter: Expr) -> Expr {
    let distance = match (head.step, constant_int(&head.from)) {
        (BinaryOp::Subtract, _) => Expr::binary(BinaryOp::Subtract, head.from.clone(), counter),
        (_, Some(0)) => counter,
        _ => Expr::binary(BinaryOp::Subtract, counter, head.from.clone()),
    };
    if constant_int(&head.by) == Some(1) {
        return distance;
    }
    Expr::binary(BinaryOp::Divide, distance, head.by.clone())
}

/// Whether a counter that doubles or halves is above zero in every iteration: there are fewer of them than it has bits.
pub(super) fn keeps_bits(head: &For) -> bool {
    let is_halved = matches!(head.step, BinaryOp::Divide | BinaryOp::ShiftRight);
    match head.test {
        BinaryOp::Greater => is_halved && constant_int(&head.to).is_some_and(|to| to >= 0),
        BinaryOp::GreaterEqual => is_halved && constant_int(&head.to).is_some_and(|to| to > 0),
        BinaryOp::Less | BinaryOp::LessEqual => !is_halved && constant_int(&head.from).is_some_and(|from| from > 0),
        _ => false,
    }
}

/// The counter of the iteration of that number: one that doubles or halves is shifted.
fn counter_of(head: &For, number: Expr) -> Expr {
    let ty = head.from.ty.clone();
    let shifted =
        |op, value: Expr| Expr::new(ExprKind::Binary(op, Box::new(value), Box::new(number.clone())), ty.clone());
    let power = || shifted(BinaryOp::ShiftLeft, Expr::new(ExprKind::Int(1), ty.clone()));
    match head.step {
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => shifted(head.step, head.from.clone()),
        BinaryOp::Multiply if constant_int(&head.from) == Some(1) => power(),
        BinaryOp::Multiply | BinaryOp::Divide => Expr::binary(head.step, head.from.clone(), power()),
        _ => linear(head, Expr::cast(number, ty)),
    }
}

/// `from + number * by`.
fn linear(head: &For, number: Expr) -> Expr {
    let distance = match constant_int(&head.by) {
        Some(1) => number,
        _ => Expr::binary(BinaryOp::Multiply, number, head.by.clone()),
    };
    if head.step == BinaryOp::Add && constant_int(&head.from) == Some(0) {
        return distance;
    }
    Expr::binary(head.step, head.from.clone(), distance)
}

/// How often a counted loop runs.
fn trips(head: &For) -> Expr {
    let ty = head.from.ty.clone();
    if constant_int(&head.from) == Some(0) && constant_int(&head.by) == Some(1) && head.test == BinaryOp::Less {
        // An unsigned counter from zero: others count by the header turned around.
        return head.to.clone();
    }
    let int = |value: i128| Expr::new(ExprKind::Int(value), ty.clone());
    let (low, high) = if head.step == BinaryOp::Add { (&head.from, &head.to) } else { (&head.to, &head.from) };
    let distance = Expr::binary(BinaryOp::Subtract, high.clone(), low.clone());
    let distance = match head.test {
        BinaryOp::Less | BinaryOp::Greater => Expr::binary(BinaryOp::Subtract, distance, int(1)),
        _ => distance,
    };
    let rounds = Expr::binary(BinaryOp::Divide, distance, head.by.clone());
    let rounds = Expr::binary(BinaryOp::Add, rounds, int(1));
    let runs = Expr::binary(head.test, head.from.clone(), head.to.clone());
    Expr::new(ExprKind::Select(Box::new(runs), Box::new(rounds), Box::new(int(0))), ty)
}

/// The header that runs through the same values backwards: for steps of one of a signed counter.
fn turned(head: &For) -> Option<For> {
    let Type::Int(kind) = head.from.ty else { return None };
    if constant_int(&head.by) != Some(1) || !kind.is_signed() {
        return None;
    }
    let one = |op| Expr::binary(op, head.to.clone(), Expr::new(ExprKind::Int(1), head.from.ty.clone()));
    let (from, test, step) = match (head.step, head.test) {
        (BinaryOp::Add, BinaryOp::Less) => (one(BinaryOp::Subtract), BinaryOp::GreaterEqual, BinaryOp::Subtract),
        (BinaryOp::Add, BinaryOp::LessEqual) => (head.to.clone(), BinaryOp::GreaterEqual, BinaryOp::Subtract),
        (BinaryOp::Subtract, BinaryOp::Greater) => (one(BinaryOp::Add), BinaryOp::LessEqual, BinaryOp::Add),
        (BinaryOp::Subtract, BinaryOp::GreaterEqual) => (head.to.clone(), BinaryOp::LessEqual, BinaryOp::Add),
        _ => return None,
    };
    let from = match (&from.kind, constant_int(&head.to)) {
        (ExprKind::Binary(BinaryOp::Subtract, ..), Some(to)) => Expr::new(ExprKind::Int(to - 1), head.from.ty.clone()),
        (ExprKind::Binary(BinaryOp::Add, ..), Some(to)) => Expr::new(ExprKind::Int(to + 1), head.from.ty.clone()),
        _ => from,
    };
    Some(For {
        counter: head.counter,
        from,
        test,
        to: head.from.clone(),
        step,
        by: head.by.clone(),
        body: Block::new(),
    })
}

fn numbered(counter: LocalId, from: Expr, test: BinaryOp, to: Expr, by: Expr, body: Block) -> For {
    For { counter, from, test, to, step: BinaryOp::Subtract, by, body }
}
