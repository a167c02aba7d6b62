//! Shifts that cancel: `exp(x[i] - m) / sum` with `sum` of `exp(x[j] - m)` is the same whatever `m` is.
//!
//! Every assignment to such a variable is taken as a number that could be any. A value may then be known to be `w - k*m`, or
//! `w * exp(-k*m)`, with a `w` that does not depend on `m`; sums, products and logarithms of such values are such values. If
//! everything that leaves the function has `k = 0`, its derivative in `m` is zero, and `m` carries none
//! (`docs/design/shifts.md`).

mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::anew::is_one_element_a_thread;
use super::objects::{Object, Objects};
use super::uniform::Uniform;
use crate::ir::walk::{self, Part};
use crate::ir::{
    AtomicOp, BinaryOp, CollectiveOp, Expr, ExprKind, For, Function, LocalId, Module, Place, PlaceKind, Space, Stmt,
    StmtKind, Storage, Type,
};
use crate::rules::chosen_by;
use value::{EXPONENTIALS, Value};

/// How many times a loop is looked at until what still changes is given up.
const ROUNDS: usize = 6;

/// The variables of a function that cancel out of everything that leaves it.
pub fn shifts(module: &Module, objects: &Objects<'_>, function: &Function) -> BTreeSet<LocalId> {
    let mut left = candidates(function);
    if left.is_empty() {
        return left;
    }
    let uniform = Uniform::in_module(module, function);
    let is_shared = |local: &LocalId| function.locals[*local].storage == Storage::Shared;
    let is_whole = |local: &LocalId| is_shared(local) && is_one_element_a_thread(function, *local);
    let whole: BTreeSet<LocalId> = function.locals.ids().filter(is_whole).collect();
    while !left.is_empty() {
        let (kept, blamed) = (kept(function, &left), BTreeSet::new());
        let mut pass =
            Pass { objects, function, uniform: &uniform, whole: &whole, shifts: &left, kept, blamed, uneven: 0 };
        let free = function.params.iter().map(|param| (*param, Value::free()));
        let mut state = State { values: free.collect(), ..State::default() };
        pass.block(&function.body, &mut state);
        let blamed = pass.blamed;
        if blamed.is_empty() {
            break;
        }
        left = &left - &blamed;
    }
    left
}

/// The numbers of a thread that are subtracted from others, in a function with an exponential, and what these are copied from.
pub fn candidates(function: &Function) -> BTreeSet<LocalId> {
    let (mut found, mut has_exponential) = (BTreeSet::new(), false);
    let mut exposed = BTreeSet::new();
    walk::each_expr(&function.body, &mut |expr| {
        if let ExprKind::Math(name, _) = &expr.kind {
            has_exponential |= EXPONENTIALS.iter().any(|(known, _)| **known == **name);
        }
        if let ExprKind::Binary(BinaryOp::Subtract, _, right) = &expr.kind {
            found.extend(right.uncast().as_local());
        }
        exposed.extend(expr.as_address().and_then(walk::own_variable));
    });
    let mut reaches_launch = false;
    walk::each_stmt(&function.body, &mut |stmt| {
        reaches_launch |= matches!(stmt.kind, StmtKind::Launch(_) | StmtKind::Runtime { .. });
        let mut copied = None;
        if let StmtKind::Assign { place, value } = &stmt.kind {
            copied = place.as_local().zip(value.as_local());
        } else if let StmtKind::Declare { local, init: Some(init) } = &stmt.kind {
            copied = Some(*local).zip(init.as_local());
        }
        found.extend(copied.filter(|(_, from)| found.contains(from)).map(|(to, _)| to));
    });
    if !has_exponential || reaches_launch {
        return BTreeSet::new();
    }
    found.retain(|local| {
        let variable = &function.locals[*local];
        matches!(variable.ty, Type::Float(_))
            && variable.storage == Storage::Private
            && !function.params.contains(local)
            && !exposed.contains(local)
    });
    found
}

/// Variables that get one value, at the beginning or before any loop and branch, which is made of no other variable.
fn kept(function: &Function, shifts: &BTreeSet<LocalId>) -> BTreeSet<LocalId> {
    let assigned = walk::assigned_locals(&function.body);
    let declared = function.body.iter().filter_map(|stmt| {
        let StmtKind::Declare { local, init: Some(init) } = &stmt.kind else { return None };
        let is_other = |place: &Place| place.as_local().is_some_and(|local| !function.params.contains(&local));
        (!walk::loads_any(init, &mut |place| is_other(place))).then_some(*local)
    });
    let all = function.params.iter().copied().chain(declared);
    all.filter(|local| !assigned.contains(local) && !shifts.contains(local)).collect()
}

/// Which threads have the same shift.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Level {
    #[default]
    Thread,
    Warp,
    Block,
}

/// What is known at a place of the text.
#[derive(Clone, PartialEq, Default)]
struct State {
    /// What variables hold; of arrays, all of their elements. A variable that has got nothing yet is not there.
    values: BTreeMap<LocalId, Value>,
    /// Shifts that are copies of others.
    copies: BTreeMap<LocalId, LocalId>,
    /// Which threads have the same one.
    levels: BTreeMap<LocalId, Level>,
}

impl State {
    fn name(&self, shift: LocalId) -> LocalId {
        self.copies.get(&shift).copied().unwrap_or(shift)
    }

    /// A shift gets another value: what depended on the old one depends on a copy of it, or on what is no longer known.
    fn retire(&mut self, shift: LocalId) {
        if self.copies.remove(&shift).is_some() {
            return;
        }
        let heir = self.copies.iter().find(|(_, original)| **original == shift).map(|(copy, _)| *copy);
        let level = self.levels.remove(&shift);
        if let Some(heir) = heir {
            self.copies.remove(&heir);
            self.copies.values_mut().filter(|original| **original == shift).for_each(|original| *original = heir);
            self.levels.extend(level.map(|level| (heir, level)));
        }
        for value in self.values.values_mut() {
            match heir {
                Some(heir) => value.rename(shift, heir),
                None => value.forget(shift),
            }
        }
    }

    /// What is known after one of two ways.
    fn join(mut self, mut other: State) -> State {
        let differing: Vec<LocalId> = self
            .copies
            .keys()
            .chain(other.copies.keys())
            .filter(|shift| self.copies.get(shift) != other.copies.get(shift))
            .copied()
            .collect();
        for shift in differing {
            self.retire(shift);
            other.retire(shift);
        }
        for (local, value) in other.values {
            let joined = match self.values.remove(&local) {
                Some(own) => own.join(&value),
                None => value,
            };
            self.values.insert(local, joined);
        }
        let level = |shift: &LocalId| other.levels.get(shift).copied().unwrap_or_default();
        self.levels = self.levels.iter().map(|(shift, own)| (*shift, (*own).min(level(shift)))).collect();
        self
    }
}

struct Pass<'p> {
    objects: &'p Objects<'p>,
    function: &'p Function,
    uniform: &'p Uniform<'p>,
    /// Shared arrays that a store of all threads leaves nothing of what was there.
    whole: &'p BTreeSet<LocalId>,
    shifts: &'p BTreeSet<LocalId>,
    /// Variables that get one value, before any loop, which depends on no shift.
    kept: BTreeSet<LocalId>,
    /// Shifts on which something depends that leaves the function.
    blamed: BTreeSet<LocalId>,
    /// How many branches and loops are around that threads of a block may take differently.
    uneven: usize,
}

impl<'p> Pass<'p> {
    fn block(&mut self, block: &'p [Stmt], state: &mut State) {
        block.iter().for_each(|stmt| self.stmt(stmt, state));
        self.leave(block, state);
    }

    fn stmt(&mut self, stmt: &'p Stmt, state: &mut State) {
        match &stmt.kind {
            StmtKind::Declare { local, init: Some(init) } => self.give(*local, init, state),
            StmtKind::Declare { local, init: None } => {
                state.values.remove(local);
            }
            StmtKind::Assign { place, value } => match place.as_local() {
                Some(local) => self.give(local, value, state),
                None => {
                    let value = self.value(value, state);
                    self.store(place, value, state);
                }
            },
            StmtKind::Accumulate { place, value }
            | StmtKind::Atomic { op: AtomicOp::Add, place, value, into: None, .. } => {
                let sum = self.load(place, state).plus(1.0, &self.value(value, state));
                self.store(place, sum, state);
            }
            StmtKind::If { cond, then_block, else_block } => {
                let mut other = state.clone();
                let is_for_all = self.uniform.is_same(cond);
                self.uneven += usize::from(!is_for_all);
                self.block(then_block, state);
                self.block(else_block, &mut other);
                self.uneven -= usize::from(!is_for_all);
                *state = std::mem::take(state).join(other);
            }
            StmtKind::For(head) => self.for_loop(head, state),
            StmtKind::While { body, .. } => {
                self.uneven += 1;
                self.repeated(body, &BTreeSet::new(), state);
                self.uneven -= 1;
            }
            StmtKind::Collective { op, mask, args, into: Some(into) } => {
                self.exchange(*op, mask.as_ref(), args, into, state);
            }
            StmtKind::Return(Some(value)) => {
                let value = self.value(value, state);
                self.blame(&value);
            }
            // What is not looked into, or gives what it found, may do anything with what it is given.
            StmtKind::Atomic { .. } | StmtKind::Call { .. } | StmtKind::Opaque { .. } | StmtKind::Switch { .. } => {
                self.unknown(stmt, state);
            }
            StmtKind::Return(None)
            | StmtKind::Collective { into: None, .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Barrier { .. }
            | StmtKind::Launch(_)
            | StmtKind::Runtime { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => {}
        }
    }

    /// All that a statement mentions may go to all that it writes.
    fn unknown(&mut self, stmt: &'p Stmt, state: &mut State) {
        let mut all = Value::free();
        let _ = walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
            if let walk::Node::Place(place) = node {
                all = all.join(&self.load(place, state)).mixed();
            }
            ControlFlow::<()>::Continue(())
        });
        let mut reached = Vec::new();
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Expr(expr) = part {
                reached.extend(self.objects.reachable(expr));
            }
            ControlFlow::<()>::Continue(())
        });
        for local in reached.iter().filter_map(Object::as_local) {
            all = all.join(&self.held(local, state)).mixed();
        }
        self.blame(&all);
        for place in walk::written_places(stmt) {
            match place.as_local() {
                Some(local) if self.shifts.contains(&local) => state.retire(local),
                Some(local) => drop(state.values.insert(local, Value::free())),
                None => self.store(place, Value::free(), state),
            }
        }
    }

    /// A variable gets a value: a shift begins anew, or is a copy of another one.
    fn give(&mut self, local: LocalId, expr: &'p Expr, state: &mut State) {
        if !self.shifts.contains(&local) {
            let value = self.value(expr, state);
            state.values.insert(local, value);
            return;
        }
        match expr.as_local().filter(|from| self.shifts.contains(from)) {
            Some(from) if state.name(from) == state.name(local) => {}
            Some(from) => {
                state.retire(local);
                let original = state.name(from);
                state.copies.insert(local, original);
            }
            None => {
                state.retire(local);
                state.levels.insert(local, self.level_of(expr));
            }
        }
    }

    /// Which threads have a value in common: a block what it reads of one shared element, as another value would be a race.
    fn level_of(&self, expr: &Expr) -> Level {
        let is_of_block = self.uneven == 0 && self.function.space == Space::Kernel;
        let is_shared = expr.uncast().as_load().is_some_and(|place| {
            let PlaceKind::Index(base, index) = &place.kind else { return false };
            let is_shared = |local: LocalId| self.function.locals[local].storage == Storage::Shared;
            base.as_local().is_some_and(is_shared) && self.uniform.is_same(index)
        });
        if is_of_block && (is_shared || self.uniform.is_same(expr)) { Level::Block } else { Level::Thread }
    }

    /// Stores a value to a part of a variable, or to memory that others see.
    fn store(&mut self, place: &Place, value: Value, state: &mut State) {
        for object in self.objects.of_place(place) {
            match object.as_local() {
                Some(local) if self.shifts.contains(&local) => self.blame(&Value::of(local)),
                Some(local) => {
                    let is_private = self.function.locals[local].storage == Storage::Private;
                    let value = if is_private { value.clone() } else { self.seen_by(Level::Block, &value, state) };
                    let joined = match state.values.get(&local) {
                        Some(held) if !self.is_stored_anew(place, local) => held.join(&value),
                        Some(_) | None => value,
                    };
                    state.values.insert(local, joined);
                }
                None => self.blame(&value),
            }
        }
    }

    /// Whether a store of all threads leaves nothing in a shared array of what was there.
    fn is_stored_anew(&self, place: &Place, array: LocalId) -> bool {
        let is_element = matches!(&place.kind, PlaceKind::Index(base, _) if base.as_local() == Some(array));
        self.uneven == 0 && is_element && self.whole.contains(&array)
    }

    /// A value as other threads see it: only a shift that they have in common is the same to them, times what all have.
    fn seen_by(&self, level: Level, value: &Value, state: &State) -> Value {
        let is_common = |shift: LocalId| state.levels.get(&shift).is_some_and(|known| *known >= level);
        let variable = |local: LocalId| Expr::load(Place::local(local, self.function.locals[local].ty.clone()));
        let is_same = value.shifts().all(is_common) && value.factors().all(|it| self.uniform.is_same(&variable(it)));
        if is_same { value.clone() } else { value.clone().mixed() }
    }

    fn load(&self, place: &Place, state: &State) -> Value {
        if let Some(local) = place.as_local() {
            return self.held(local, state);
        }
        let mut found: Option<Value> = None;
        for object in self.objects.of_place(place) {
            let value = object.as_local().map_or_else(Value::free, |local| self.held(local, state));
            found = Some(found.map_or_else(|| value.clone(), |before| before.join(&value)));
        }
        found.unwrap_or_else(Value::free)
    }

    fn held(&self, local: LocalId, state: &State) -> Value {
        if self.shifts.contains(&local) {
            return Value::of(state.name(local));
        }
        state.values.get(&local).cloned().unwrap_or(Value::Zero)
    }

    fn blame(&mut self, value: &Value) {
        self.blamed.extend(value.shifts());
    }

    fn value(&self, expr: &Expr, state: &State) -> Value {
        let value = |operand: &Expr| self.value(operand, state);
        if !matches!(expr.ty, Type::Float(_) | Type::Record(_) | Type::Array(..)) {
            return Value::free();
        }
        match &expr.kind {
            ExprKind::Float(real) => {
                if real.0 == 0.0 {
                    Value::Zero
                } else {
                    Value::free()
                }
            }
            ExprKind::Load(place) => self.load(place, state),
            ExprKind::Cast(operand) => value(operand),
            ExprKind::Unary(_, operand) => Value::Zero.plus(-1.0, &value(operand)),
            ExprKind::Binary(BinaryOp::Add, left, right) => value(left).plus(1.0, &value(right)),
            ExprKind::Binary(BinaryOp::Subtract, left, right) => value(left).plus(-1.0, &value(right)),
            ExprKind::Binary(BinaryOp::Multiply, left, right) => match (left.as_float(), right.as_float()) {
                (_, Some(factor)) => value(left).scaled(factor),
                (Some(factor), None) => value(right).scaled(factor),
                (None, None) => {
                    let (own, other) = (value(left), value(right));
                    let by_right = self.factor(right).and_then(|factor| own.multiplied(factor));
                    let by_left = || self.factor(left).and_then(|factor| other.multiplied(factor));
                    by_right.or_else(by_left).unwrap_or_else(|| own.times(1.0, &other))
                }
            },
            ExprKind::Binary(BinaryOp::Divide, left, right) => match right.as_float() {
                Some(by) if by != 0.0 => value(left).scaled(1.0 / by),
                Some(_) | None => value(left).times(-1.0, &value(right)),
            },
            ExprKind::Select(_, then, other) => value(then).join(&value(other)),
            ExprKind::Math(name, args) => {
                let values: Vec<Value> = args.iter().map(value).collect();
                Value::of_function(name, &values)
            }
            ExprKind::Construct(parts) => parts.iter().fold(Value::Zero, |all, part| all.join(&value(part))),
            ExprKind::Binary(_, left, right) => value(left).join(&value(right)).mixed(),
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_) => Value::free(),
        }
    }

    /// A variable that keeps its value as long as the function runs, and is no shift.
    fn factor(&self, expr: &Expr) -> Option<LocalId> {
        expr.uncast().as_local().filter(|local| self.kept.contains(local))
    }

    fn exchange(
        &mut self,
        op: CollectiveOp,
        mask: Option<&Expr>,
        args: &'p [Expr],
        into: &'p Place,
        state: &mut State,
    ) {
        let Some(first) = args.first() else { return };
        let value = self.value(first, state);
        let value = self.seen_by(Level::Warp, &value, state);
        match into.as_local() {
            Some(local) if self.shifts.contains(&local) => {
                // What one lane has is given to all.
                let is_one = op == CollectiveOp::Shuffle
                    && is_whole_warp(mask, args)
                    && args.get(1).is_some_and(|lane| self.uniform.is_same(lane));
                state.retire(local);
                state.levels.insert(local, if is_one { Level::Warp } else { Level::Thread });
            }
            Some(local) => drop(state.values.insert(local, value)),
            None => self.store(into, value, state),
        }
    }

    fn for_loop(&mut self, head: &'p For, state: &mut State) {
        let whole = self.whole_arrays(head);
        let is_for_all = [&head.from, &head.to, &head.by].iter().all(|part| self.uniform.is_same(part));
        self.uneven += usize::from(!is_for_all);
        self.repeated(&head.body, &whole, state);
        self.uneven -= usize::from(!is_for_all);
        if let Some(shift) = all_lanes(head).filter(|shift| self.shifts.contains(shift)) {
            state.retire(shift);
            state.levels.insert(shift, Level::Warp);
        }
    }

    /// A block that runs any number of times; of some arrays each time another element has its turn, until all had.
    fn repeated(&mut self, body: &'p [Stmt], whole: &BTreeSet<LocalId>, state: &mut State) {
        let first: BTreeMap<LocalId, Option<Value>> =
            whole.iter().map(|array| (*array, state.values.get(array).cloned())).collect();
        let mut end = state.clone();
        for round in 0.. {
            end = state.clone();
            self.turn(body, whole, &mut end);
            let mut next = state.clone().join(end.clone());
            for (array, value) in &first {
                next.values.remove(array);
                next.values.extend(value.clone().map(|value| (*array, value)));
            }
            if next == *state {
                break;
            }
            if round >= ROUNDS {
                next.values.iter_mut().for_each(|(local, value)| {
                    if state.values.get(local) != Some(value) {
                        *value = std::mem::replace(value, Value::Zero).mixed();
                    }
                });
            }
            *state = next;
            if round > 2 * ROUNDS {
                self.blamed.extend(self.shifts);
                break;
            }
        }
        for array in whole {
            state.values.remove(array);
            state.values.extend(end.values.remove(array).map(|value| (*array, value)));
        }
    }

    /// One turn of a loop, in which an array of which all elements have their turn is one of them.
    fn turn(&mut self, body: &'p [Stmt], whole: &BTreeSet<LocalId>, state: &mut State) {
        for stmt in body {
            if let StmtKind::Assign { place: Place { kind: PlaceKind::Index(base, _), .. }, value } = &stmt.kind
                && let Some(array) = base.as_local().filter(|array| whole.contains(array))
            {
                let value = self.value(value, state);
                state.values.insert(array, value);
            } else {
                self.stmt(stmt, state);
            }
        }
        self.leave(body, state);
    }

    /// What was declared in a block is gone.
    fn leave(&mut self, body: &[Stmt], state: &mut State) {
        for local in body.iter().filter_map(walk::declared_local) {
            if self.shifts.contains(&local) {
                state.retire(local);
            }
            state.values.remove(&local);
        }
    }

    /// Arrays of the thread of which each iteration of a loop uses its own element only, and all iterations together every one.
    fn whole_arrays(&self, head: &For) -> BTreeSet<LocalId> {
        let is_simple = head.from.as_int() == Some(0)
            && (head.test, head.step) == (BinaryOp::Less, BinaryOp::Add)
            && head.by.as_int() == Some(1);
        let Some(length) = head.to.as_int().filter(|_| is_simple) else { return BTreeSet::new() };
        let mut found: BTreeSet<LocalId> = BTreeSet::new();
        let mut others: BTreeMap<LocalId, isize> = BTreeMap::new();
        walk::each_place(&head.body, &mut |place| match &place.kind {
            PlaceKind::Index(base, index) if index.as_local() == Some(head.counter) => {
                if let Some(array) = base.as_local() {
                    found.insert(array);
                    *others.entry(array).or_default() -= 1;
                }
            }
            PlaceKind::Local(local) => *others.entry(*local).or_default() += 1,
            PlaceKind::Index(..) | PlaceKind::Global(_) | PlaceKind::Element(..) | PlaceKind::Field(..) => {}
        });
        // In a loop inside, or in a branch, an element has several turns, or none.
        let mut inside = BTreeSet::new();
        let is_straight = |stmt: &&Stmt| matches!(stmt.kind, StmtKind::Assign { .. } | StmtKind::Declare { .. });
        for stmt in head.body.iter().filter(|stmt| !is_straight(stmt)) {
            walk::each_place(std::slice::from_ref(stmt), &mut |place| inside.extend(place.as_local()));
        }
        found.retain(|array| {
            let variable = &self.function.locals[*array];
            let has_length = matches!(variable.ty, Type::Array(_, count) if i128::from(count) == length);
            has_length
                && variable.storage == Storage::Private
                && others.get(array) == Some(&0)
                && !inside.contains(array)
        });
        found
    }
}

/// Whether all 32 lanes of a warp exchange values, and not groups of them by themselves.
fn is_whole_warp(mask: Option<&Expr>, args: &[Expr]) -> bool {
    let is_all = mask.is_some_and(|mask| matches!(mask.uncast().as_int(), Some(0xffff_ffff | -1)));
    is_all && args.get(2).is_none_or(|width| width.uncast().as_int() == Some(32))
}

/// The variable that all 32 lanes of a warp have in common after a loop, as each takes the greatest or least of its own and
/// another lane's, 16 lanes away, then 8 and so on.
fn all_lanes(head: &For) -> Option<LocalId> {
    let is_halved =
        matches!((head.step, head.by.as_int()), (BinaryOp::Divide, Some(2)) | (BinaryOp::ShiftRight, Some(1)));
    let is_down = head.from.as_int() == Some(16) && head.test == BinaryOp::Greater && head.to.as_int() == Some(0);
    let body: Vec<&Stmt> =
        head.body.iter().filter(|stmt| !matches!(stmt.kind, StmtKind::Declare { init: None, .. })).collect();
    let [exchange, choice] = body.as_slice() else { return None };
    let StmtKind::Collective { op: CollectiveOp::ShuffleXor, args, mask, into: Some(into) } = &exchange.kind else {
        return None;
    };
    let StmtKind::Assign { place, value: Expr { kind: ExprKind::Math(name, parts), .. } } = &choice.kind else {
        return None;
    };
    let variable = place.as_local()?;
    let [own, other] = parts.as_slice() else { return None };
    let is_all = is_halved
        && is_down
        && is_whole_warp(mask.as_ref(), args)
        && args.first().and_then(Expr::as_local) == Some(variable)
        && args.get(1).map(Expr::uncast).and_then(Expr::as_local) == Some(head.counter)
        && chosen_by(name).is_some()
        && own.as_local() == Some(variable)
        && other.as_local().is_some()
        && other.as_local() == into.as_local();
    is_all.then_some(variable)
}
