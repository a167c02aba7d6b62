//! How the additions to one array are gathered: which digits choose an element, and which are gone through for each of them.

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::additions::{Addition, Around, Changes, slice};
use super::digits::{Digit, Number, sweep, threads};
use super::turn::Turn;
use crate::analysis::affine::{INDEX_BITS, Values};
use crate::analysis::polynomial::Polynomial;
use crate::ir::walk::{self, Node, Part};
use crate::ir::{Axis, BinaryOp, Block, Builtin, Expr, ExprKind, For, LocalId, Place, Stmt, Type, UnaryOp};
use crate::transform::launch_values::{axis, of_launch};

/// What is worth to be computed once more for each addition: operators, loads and, sixteen times, functions.
const MAX_WORK: usize = 96;

/// An array whose elements are gathered.
pub(super) struct Target<'f> {
    pub(super) additions: Vec<Addition<'f>>,
    /// The digits that choose an element, the one first that changes it least.
    pub(super) keys: Vec<Key>,
    /// The digits that are gone through for each element.
    pub(super) free: Vec<Digit>,
    /// The axes of the launch that matter.
    pub(super) axes: Vec<Axis>,
    /// Whether no two choices mean one element.
    pub(super) is_alone: bool,
    /// Counters that the threads of an axis go through together.
    pub(super) sweeps: Vec<(LocalId, Axis)>,
}

/// A digit that chooses.
pub(super) struct Key {
    pub(super) digit: Digit,
    value: Polynomial,
    stride: Polynomial,
    /// For each addition, by how much it goes beside the first one.
    pub(super) shifts: Vec<i64>,
    /// Counters that are added to the digit, and what they are multiplied by: one or minus one. They are gone through.
    pub(super) with: Vec<(LocalId, i64)>,
}

impl Key {
    /// The least and the greatest shift.
    pub(super) fn spread(&self) -> [i64; 2] {
        let [least, greatest] = [self.shifts.iter().min(), self.shifts.iter().max()];
        [least.copied().unwrap_or(0), greatest.copied().unwrap_or(0)]
    }
}

impl<'f> Target<'f> {
    /// Finds it. None if a gather is not understood or saves nothing.
    pub(super) fn new(values: &Values<'_>, changes: &Changes, mut additions: Vec<Addition<'f>>) -> Option<Target<'f>> {
        // The elements are those of the addition that goes beside them least.
        additions.sort_by_key(|addition| {
            let rest = addition.rest.terms().map(|(product, factor)| (product.len(), factor.abs())).max();
            (addition.is_turned(), rest.unwrap_or((0, 0)))
        });
        let mut keys = keys(&additions)?;
        let sweeps = sweeps(values, additions.first()?);
        if additions.iter().any(|addition| self::sweeps(values, addition) != sweeps) {
            return None;
        }
        let given = sweeps.iter().map(|(counter, _)| *counter).collect();
        let slices: Vec<Block> = additions
            .iter()
            .map(|addition| slice(values, changes, addition, &given, Vec::new()))
            .collect::<Option<_>>()?;
        let mut mentioned = Vec::new();
        for (block, addition) in slices.iter().zip(&additions) {
            add_axes_of_block(values, block, &mut mentioned)?;
            add_axes(values, addition.value, &mut mentioned)?;
        }
        let mut free = join_counters(&mut keys, &given)?;
        are_turns_understood(values, &additions, &keys).then_some(())?;
        mentioned.extend(keys.iter().filter_map(|key| key.digit.axis()));
        // What an axis tells beside a counter that its threads go through, or two such counters, belongs to one thread.
        let is_shared = |axis: Axis| sweeps.iter().filter(|(_, other)| *other == axis).count() > 1;
        if sweeps.iter().any(|(_, axis)| mentioned.contains(axis) || is_shared(*axis)) {
            return None;
        }
        for axis in Axis::ALL.into_iter().filter(|axis| mentioned.contains(axis)) {
            free.extend(missing(axis, &keys)?);
        }
        for (counter, axis) in &sweeps {
            mentioned.push(*axis);
            if !keys.iter().any(|key| key.digit == Digit::Counter(*counter)) {
                free.push(Digit::Counter(*counter));
            }
        }
        let axes: Vec<Axis> = Axis::ALL.into_iter().filter(|axis| mentioned.contains(axis)).collect();
        let saves = !free.is_empty() || additions.len() > 1 || additions[0].is_turned();
        let mut digits = keys.iter().map(|key| &key.digit).chain(&free);
        let is_known = digits.all(|digit| range(values, &additions[0], digit).is_some());
        let work: usize =
            slices.iter().map(work).sum::<usize>() + additions.iter().map(|it| work_of(it.value)).sum::<usize>();
        if !saves || !is_known || keys.is_empty() || work > MAX_WORK * additions.len() {
            return None;
        }
        keys.sort_by_key(|key| key.stride.terms().map(|(product, _)| product.len()).max());
        let is_alone = is_alone(values, &additions, &keys);
        Some(Target { additions, keys, free, axes, is_alone, sweeps })
    }

    /// Whether the branches around an addition see to it that a coordinate is not negative.
    pub(super) fn is_positive(&self, values: &Values<'_>, number: usize, key: &Key) -> bool {
        let mut facts = Vec::new();
        add_facts_around(values, &self.additions[number], &mut facts);
        matches!(key.digit, Digit::Axis(_)) && is_natural(&key.value, &facts)
    }

    /// The digits that go around, and how.
    pub(super) fn turns(&self) -> impl Iterator<Item = (&Digit, &Turn)> {
        let digits = self.additions.iter().flat_map(|addition| &addition.digits);
        digits.filter_map(|(number, _)| Some((&number.digit, number.turn.as_ref()?)))
    }

    /// The counters that are given.
    pub(super) fn counters(&self) -> HashSet<LocalId> {
        let counter = |digit: &Digit| match digit {
            Digit::Counter(counter) => Some(*counter),
            Digit::Axis(_) | Digit::Quotient(..) | Digit::Remainder(..) => None,
        };
        self.keys.iter().map(|key| &key.digit).chain(&self.free).filter_map(counter).collect()
    }

    /// The first position of a key, and how many there are.
    pub(super) fn positions(&self, values: &Values<'_>, key: &Key) -> Option<(Expr, Expr)> {
        let (mut from, mut count) = range(values, &self.additions[0], &key.digit)?;
        let [least, greatest] = key.spread();
        (from, count) = (shifted(from, least), shifted(count, greatest - least));
        for (counter, factor) in &key.with {
            let (first, number) = range(values, &self.additions[0], &Digit::Counter(*counter))?;
            let more = shifted(number, -1);
            from = if *factor > 0 { sum(from, first) } else { minus(from, sum(more.clone(), first)) };
            count = sum(count, more);
        }
        Some((from, count))
    }
}

/// The counters around an addition that threads go through together.
fn sweeps(values: &Values<'_>, addition: &Addition<'_>) -> Vec<(LocalId, Axis)> {
    let axis = |head: &For| sweep(values, head).map(|(axis, _)| (head.counter, axis));
    addition.loops().filter_map(axis).collect()
}

/// The keys of some additions: all have the same digits, times the same, and the rest is a shift.
fn keys(additions: &[Addition<'_>]) -> Option<Vec<Key>> {
    let (first, others) = additions.split_first()?;
    let key = |(number, stride): &(Number, Polynomial)| Key {
        digit: number.digit.clone(),
        value: number.value.clone(),
        stride: stride.clone(),
        shifts: vec![0],
        with: Vec::new(),
    };
    let mut keys: Vec<Key> = first.digits.iter().map(key).collect();
    // What is a multiple of a product is told before what is one of a number.
    keys.sort_by_key(|key| std::cmp::Reverse(key.stride.terms().map(|(product, _)| product.len()).max()));
    for other in others {
        let mut shift = other.rest.plus(-1, &first.rest)?;
        if other.digits.len() != keys.len() {
            return None;
        }
        for key in &mut keys {
            let same = |(number, stride): &&(Number, Polynomial)| number.digit == key.digit && *stride == key.stride;
            other.digits.iter().find(same)?;
            let (times, rest) = match key.stride.as_constant() {
                None => shift.divided(&key.stride)?,
                Some(stride) => {
                    let all = shift.as_constant()?;
                    let times = all / stride;
                    let constant = |value| Polynomial::constant(value, INDEX_BITS);
                    (constant(times), constant(all - times * stride))
                }
            };
            key.shifts.push(times.as_constant().filter(|times| times.abs() < 1 << 20)? as i64);
            shift = rest;
        }
        if shift.as_constant() != Some(0) {
            return None;
        }
    }
    Some(keys)
}

/// *Turned digits.* Where a digit is at least zero and below a size, what it is turned to has each value below that once, and turning
/// back tells the digit. So an element has one thread again: asked for is that the branches around the addition say so, and that
/// the kernel has a thread for each number below the size, which the launcher sees to.
///
/// The sum goes to the place of the first addition to it. It must mean the element wherever one of the others goes.
fn are_turns_understood(values: &Values<'_>, additions: &[Addition<'_>], keys: &[Key]) -> bool {
    let is_bounded = |addition: &Addition<'_>, number: &Number, turn: &Turn| {
        let facts = facts(values, addition);
        let room = less(&turn.digit, &turn.limit);
        let is_from_zero = range(values, addition, &number.digit).is_some_and(|(from, _)| from.as_int() == Some(0));
        let is_plain = keys.iter().any(|key| key.digit == number.digit && key.with.is_empty());
        is_from_zero
            && is_plain
            && is_natural(&turn.digit, &facts)
            && room.is_some_and(|room| is_natural(&room, &facts))
    };
    let are_bounded = |addition: &Addition<'_>| {
        addition
            .digits
            .iter()
            .all(|(number, _)| number.turn.as_ref().is_none_or(|turn| is_bounded(addition, number, turn)))
    };
    let is_like = |first: usize, other: usize| {
        keys.iter().all(|key| {
            let [one, another] =
                [first, other].map(|number| additions[number].turn(&key.digit).map(|turn| &turn.limit));
            one == another && key.shifts[first] == key.shifts[other]
        })
    };
    let is_placed = |number: usize| {
        let tail = &additions[number].location.tail;
        let first = additions.iter().position(|addition| addition.location.tail == *tail).unwrap_or(number);
        !additions[first].is_turned() || is_like(first, number)
    };
    additions.iter().all(are_bounded) && (0..additions.len()).all(is_placed)
}

/// Makes of a coordinate and counters that are added to it one key, and gives the counters, which are free then.
fn join_counters(keys: &mut Vec<Key>, sweeps: &HashSet<LocalId>) -> Option<Vec<Digit>> {
    let mut free = Vec::new();
    for position in (0..keys.len()).rev() {
        let Digit::Counter(counter) = keys[position].digit else { continue };
        if sweeps.contains(&counter) {
            continue;
        }
        let (stride, value) = (keys[position].stride.clone(), keys[position].value.clone());
        let turned = Polynomial::constant(0, INDEX_BITS).plus(-1, &stride)?;
        let is_moved = keys[position].shifts.iter().any(|shift| *shift != 0);
        let other = keys.iter_mut().find(|key| {
            let is_coordinate = match &key.digit {
                Digit::Axis(_) => true,
                Digit::Counter(counter) => sweeps.contains(counter),
                Digit::Quotient(..) | Digit::Remainder(..) => false,
            };
            is_coordinate && !is_moved && (key.stride == stride || key.stride == turned)
        });
        if let Some(other) = other {
            let factor = if other.stride == stride { 1 } else { -1 };
            other.with.push((counter, factor));
            other.value = other.value.plus(factor.into(), &value)?;
            free.push(Digit::Counter(counter));
            keys.remove(position);
        }
    }
    Some(free)
}

/// The digits of an axis that its keys leave open. None if they do not belong together.
fn missing(axis: Axis, keys: &[Key]) -> Option<Option<Digit>> {
    let own: Vec<&Digit> = keys.iter().map(|key| &key.digit).filter(|digit| digit.axis() == Some(axis)).collect();
    match own.as_slice() {
        [] => Some(Some(Digit::Axis(axis))),
        [Digit::Axis(_)] => Some(None),
        [Digit::Quotient(_, by)] => Some(Some(Digit::Remainder(axis, by.clone()))),
        [Digit::Remainder(_, by)] => Some(Some(Digit::Quotient(axis, by.clone()))),
        [Digit::Quotient(_, by), Digit::Remainder(_, other)] | [Digit::Remainder(_, by), Digit::Quotient(_, other)] => {
            (by == other).then_some(None)
        }
        [..] => None,
    }
}

/// The first value of a digit, and how many values follow one another, in terms of the launch.
pub(super) fn range(values: &Values<'_>, addition: &Addition<'_>, digit: &Digit) -> Option<(Expr, Expr)> {
    let zero = || Expr::int(0);
    Some(match digit {
        Digit::Axis(axis) => (zero(), threads(*axis)),
        Digit::Remainder(_, by) => (zero(), Expr::cast(by.clone(), Type::INT)),
        Digit::Quotient(axis, by) => {
            let by = Expr::cast(by.clone(), Type::INT);
            let last = Expr::binary(BinaryOp::Subtract, threads(*axis), Expr::int(1));
            let last = Expr::binary(BinaryOp::Divide, last, by);
            (zero(), Expr::binary(BinaryOp::Add, last, Expr::int(1)))
        }
        Digit::Counter(counter) => {
            let head = addition.loops().find(|head| head.counter == *counter)?;
            counted(values, head).or_else(|| sweep(values, head).map(|(_, to)| (zero(), to)))?
        }
    })
}

/// The least value of a counter that goes on by one, and how many there are.
fn counted(values: &Values<'_>, head: &For) -> Option<(Expr, Expr)> {
    let Type::Int(kind) = head.from.ty else { return None };
    let of = |expr| of_launch(values, expr).map(|expr| Expr::cast(expr, Type::INT));
    let (from, to) = (of(&head.from)?, of(&head.to)?);
    // A longer number may be another one as an `int`.
    if head.to.ty != head.from.ty || head.by.as_int() != Some(1) || !kind.is_signed() || kind.bits() > 32 {
        return None;
    }
    match (head.step, head.test) {
        (BinaryOp::Add, BinaryOp::Less) => Some((from.clone(), minus(to, from))),
        (BinaryOp::Add, BinaryOp::LessEqual) => Some((from.clone(), shifted(minus(to, from), 1))),
        (BinaryOp::Subtract, BinaryOp::GreaterEqual) => Some((to.clone(), shifted(minus(from, to), 1))),
        (BinaryOp::Subtract, BinaryOp::Greater) => Some((shifted(to.clone(), 1), minus(from, to))),
        (_, _) => None,
    }
}

/// *Digits of a number.* If every digit but the last is at least zero and below what the next one's factor is of its own,
/// different choices are different elements.
fn is_alone(values: &Values<'_>, additions: &[Addition<'_>], keys: &[Key]) -> bool {
    let Some(first) = keys.first() else { return false };
    if first.stride.as_constant().is_none_or(|stride| stride <= 0) {
        return false;
    }
    let facts: Vec<Vec<Polynomial>> = additions.iter().map(|addition| facts(values, addition)).collect();
    keys.windows(2).all(|pair| {
        let Some((room, rest)) = pair[1].stride.divided_by(&pair[0].stride) else { return false };
        rest.as_constant() == Some(0)
            && additions.iter().zip(&facts).zip(&pair[0].shifts).all(|((addition, facts), shift)| {
                let constant = |value: i128| Polynomial::constant(value, INDEX_BITS);
                let digit = value_of(&pair[0], addition).plus(1, &constant((*shift).into()));
                let left = digit.as_ref().and_then(|digit| room.plus(-1, digit)?.plus(-1, &constant(1)));
                [digit.as_ref(), left.as_ref()].into_iter().all(|value| value.is_some_and(|it| is_natural(it, facts)))
            })
    })
}

/// The digit that chooses, as an addition has it.
fn value_of<'k>(key: &'k Key, addition: &'k Addition<'_>) -> &'k Polynomial {
    let own = addition.digits.iter().find(|(number, _)| number.digit == key.digit).map(|(number, _)| &number.value);
    own.filter(|_| key.with.is_empty()).unwrap_or(&key.value)
}

/// Whether a number is not negative, given others that are not.
fn is_natural(value: &Polynomial, facts: &[Polynomial]) -> bool {
    let is_less = |fact: &Polynomial| {
        let more = value.plus(-1, fact).and_then(|more| more.as_constant());
        more.is_some_and(|more| more >= 0)
    };
    facts.iter().any(is_less)
}

/// What is not negative where an addition is made.
fn facts(values: &Values<'_>, addition: &Addition<'_>) -> Vec<Polynomial> {
    let mut facts = Vec::new();
    for (number, _) in &addition.digits {
        let value = number.turn.as_ref().map_or(&number.value, |turn| &turn.digit);
        match &number.digit {
            Digit::Axis(_) | Digit::Quotient(..) => facts.push(value.clone()),
            Digit::Remainder(_, by) => {
                facts.push(value.clone());
                let room = values.index(by).and_then(|by| less(value, &by));
                facts.extend(room);
            }
            Digit::Counter(_) => {}
        }
        // What a digit is turned to is below the size as well.
        if let Some(turn) = &number.turn {
            facts.push(number.value.clone());
            facts.extend(less(&number.value, &turn.limit));
        }
    }
    add_facts_around(values, addition, &mut facts);
    facts
}

/// What branches and loops see to.
fn add_facts_around(values: &Values<'_>, addition: &Addition<'_>, facts: &mut Vec<Polynomial>) {
    for level in &addition.levels {
        match level.around {
            None => {}
            Some(Around::Branch { cond, is_then }) => add_facts(values, cond, is_then, facts),
            Some(Around::Loop(head)) => {
                let counter = Expr::load(Place::local(head.counter, head.from.ty.clone()));
                let [low, high] =
                    if head.step == BinaryOp::Add { [&head.from, &counter] } else { [&counter, &head.from] };
                if sweep(values, head).is_some() {
                    facts.extend(values.index(&counter));
                }
                let order = Expr::binary(BinaryOp::LessEqual, low.clone(), high.clone());
                add_facts(values, &order, true, facts);
                add_facts(values, &Expr::binary(head.test, counter.clone(), head.to.clone()), true, facts);
            }
        }
    }
}

/// `right - left - 1`.
fn less(left: &Polynomial, right: &Polynomial) -> Option<Polynomial> {
    right.plus(-1, left)?.plus(-1, &Polynomial::constant(1, INDEX_BITS))
}

/// What is not negative if a condition holds, or if it does not.
pub(super) fn add_facts(values: &Values<'_>, cond: &Expr, is_true: bool, facts: &mut Vec<Polynomial>) {
    match &cond.kind {
        ExprKind::Unary(UnaryOp::Not, operand) => add_facts(values, operand, !is_true, facts),
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), left, right) => {
            if (*op == BinaryOp::And) == is_true {
                add_facts(values, left, is_true, facts);
                add_facts(values, right, is_true, facts);
            }
        }
        ExprKind::Binary(op, left, right) if matches!(left.ty, Type::Int(kind) if kind.is_signed()) => {
            let (Some(left), Some(right)) = (values.index(left), values.index(right)) else { return };
            let (least, most, is_strict) = match (op, is_true) {
                (BinaryOp::Less, true) | (BinaryOp::GreaterEqual, false) => (left, right, true),
                (BinaryOp::LessEqual, true) | (BinaryOp::Greater, false) => (left, right, false),
                (BinaryOp::Greater, true) | (BinaryOp::LessEqual, false) => (right, left, true),
                (BinaryOp::GreaterEqual, true) | (BinaryOp::Less, false) => (right, left, false),
                (_, _) => return,
            };
            facts.extend(if is_strict { less(&least, &most) } else { most.plus(-1, &least) });
        }
        ExprKind::Load(place) => {
            let value = place.as_local().and_then(|local| values.locals[local].constant());
            if let Some(value) = value {
                add_facts(values, value, is_true, facts);
            }
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => {}
    }
}

/// Adds the axes whose coordinates a block mentions. None if it mentions threads otherwise.
fn add_axes_of_block(values: &Values<'_>, block: &[Stmt], found: &mut Vec<Axis>) -> Option<()> {
    for stmt in block {
        let all = walk::stmt_parts(stmt, &mut |part| stop_unless(add_axes_of_part(values, part, found)));
        all.is_continue().then_some(())?;
    }
    Some(())
}

fn add_axes_of_part(values: &Values<'_>, part: Part<'_>, found: &mut Vec<Axis>) -> Option<()> {
    match part {
        Part::Expr(expr) => add_axes(values, expr, found),
        Part::Place(place) => {
            let all = walk::place_parts(place, &mut |part| stop_unless(add_axes_of_part(values, part, found)));
            all.is_continue().then_some(())
        }
        Part::Block(block) => add_axes_of_block(values, block, found),
    }
}

fn add_axes(values: &Values<'_>, expr: &Expr, found: &mut Vec<Axis>) -> Option<()> {
    if matches!(expr.ty, Type::Int(_))
        && let Some(axis) = axis(values, expr)
    {
        found.push(axis);
        return Some(());
    }
    if matches!(expr.kind, ExprKind::Builtin(Builtin::ThreadIdx(_) | Builtin::BlockIdx(_) | Builtin::WarpSize)) {
        return None;
    }
    let all = walk::expr_parts(expr, &mut |part| stop_unless(add_axes_of_part(values, part, found)));
    all.is_continue().then_some(())
}

/// A difference, computed where both are numbers.
pub(super) fn minus(left: Expr, right: Expr) -> Expr {
    match right.as_int() {
        Some(right) => sum(left, Expr::int(-right as i64)),
        None => Expr::binary(BinaryOp::Subtract, left, right),
    }
}

/// A sum, computed where both are numbers.
pub(super) fn sum(left: Expr, right: Expr) -> Expr {
    if let (ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Subtract), first, more), Some(by)) =
        (&left.kind, right.as_int())
        && let Some(more) = more.as_int()
    {
        let more = if *op == BinaryOp::Add { more } else { -more };
        return shifted((**first).clone(), (more + by) as i64);
    }
    match (left.as_int(), right.as_int()) {
        (_, Some(0)) => left,
        (Some(0), _) => right,
        (Some(left), Some(right)) => Expr::int((left + right) as i64),
        (_, Some(right)) if right < 0 => Expr::binary(BinaryOp::Subtract, left, Expr::int(-right as i64)),
        (_, _) => Expr::binary(BinaryOp::Add, left, right),
    }
}

/// A value with a number added.
pub(super) fn shifted(value: Expr, by: i64) -> Expr {
    sum(value, Expr::int(by))
}

fn stop_unless(is_fine: Option<()>) -> ControlFlow<()> {
    if is_fine.is_some() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn work(block: &Block) -> usize {
    let mut work = 0;
    let _ = walk::visit_block(block, &mut |node| {
        work += weight(&node);
        ControlFlow::<()>::Continue(())
    });
    work
}

fn work_of(expr: &Expr) -> usize {
    let mut work = 0;
    let _ = walk::visit_expr(expr, &mut |node| {
        work += weight(&node);
        ControlFlow::<()>::Continue(())
    });
    work
}

fn weight(node: &Node<'_>) -> usize {
    match node {
        Node::Expr(Expr { kind: ExprKind::Math(..), .. }) => 16,
        Node::Expr(Expr { kind: ExprKind::Load(_) | ExprKind::Binary(..), .. }) => 1,
        Node::Expr(_) | Node::Place(_) | Node::Stmt(_) => 0,
    }
}
