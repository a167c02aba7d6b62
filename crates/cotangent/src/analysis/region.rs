//! When a statement runs: the branches and loops around it, and when one statement runs only if another does.

use super::affine::{Atom, Counterpart, INDEX_BITS, Operation, Values};
use super::polynomial::{AtomId, Polynomial};
use super::threads::Threads;
use crate::ir::{BinaryOp, Expr, ExprKind, For, IntKind, LocalId, Place, PlaceKind, Type, UnaryOp};

/// What stands around a statement.
#[derive(Clone, Debug)]
pub enum Frame {
    /// A branch. `number` tells statements apart.
    Branch { number: usize, is_then: bool, conditions: Vec<Option<Condition>> },
    /// A counted loop, and the values that its counter takes if they are known. Threads that meet in every iteration are
    /// in step.
    Count { number: usize, counter: LocalId, range: Option<Range>, has_barrier: bool, is_in_step: bool },
    /// A branch in which a variable has a value that the counter of a loop had, and the values that this takes.
    Chosen { number: usize, variable: LocalId, range: Option<Range> },
    /// A loop of which nothing is known, or a switch.
    Other { number: usize, is_switch: bool, has_barrier: bool },
}

/// Something that holds, in terms of values that do not change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// A comparison of integers of one type, `left < right` and so on; greater-than is turned around.
    /// `wide` are its sides as indices.
    Compare { op: Comparison, is_signed: bool, left: Polynomial, right: Polynomial, wide: Option<[Polynomial; 2]> },
    /// A truth value.
    Truth { value: Polynomial, is_true: bool },
}

/// Comparisons of integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// `<`.
    Less,
    /// `<=`.
    LessEqual,
    /// `==`.
    Equal,
    /// `!=`.
    NotEqual,
}

/// The values that a counter takes: `from`, and on by `by` as long as the test holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    kind: IntKind,
    from: Polynomial,
    test: BinaryOp,
    /// What the counter is compared with has its type.
    to: Polynomial,
    step: BinaryOp,
    by: Polynomial,
    /// `from`, `to` and `by` as indices.
    wide: Option<[Polynomial; 3]>,
}

impl Range {
    /// The values that say which iterations there are.
    pub fn values(&self) -> [&Polynomial; 3] {
        [&self.from, &self.to, &self.by]
    }
}

impl Frame {
    /// Whether what is inside may run in more than one phase between barriers, or be jumped over.
    pub fn hides_order(&self) -> bool {
        match self {
            Frame::Branch { .. } | Frame::Chosen { .. } => false,
            Frame::Count { has_barrier, .. } => *has_barrier,
            Frame::Other { is_switch, has_barrier, .. } => *is_switch || *has_barrier,
        }
    }

    /// The counter of a loop whose iterations all threads of a block run at the same time.
    pub fn counter_in_step(&self) -> Option<LocalId> {
        match self {
            Frame::Count { counter, is_in_step: true, .. } => Some(*counter),
            Frame::Branch { .. } | Frame::Count { .. } | Frame::Chosen { .. } | Frame::Other { .. } => None,
        }
    }

    /// Whether two are one branch, or one loop.
    pub fn is_same(&self, other: &Frame) -> bool {
        match (self, other) {
            (Frame::Branch { number, is_then, .. }, Frame::Branch { number: other, is_then: is_other_then, .. }) => {
                number == other && is_then == is_other_then
            }
            (Frame::Count { .. } | Frame::Other { .. }, Frame::Count { .. } | Frame::Other { .. }) => {
                self.number() == other.number()
            }
            (Frame::Chosen { number, .. }, Frame::Chosen { number: other, .. }) => number == other,
            (Frame::Branch { .. } | Frame::Chosen { .. }, _) | (_, Frame::Branch { .. } | Frame::Chosen { .. }) => {
                false
            }
        }
    }

    /// A variable with values of a loop's counter, and which values these are.
    pub(super) fn counted(&self) -> Option<(LocalId, &Range)> {
        match self {
            Frame::Count { counter: variable, range, .. } | Frame::Chosen { variable, range, .. } => {
                Some((*variable, range.as_ref()?))
            }
            Frame::Branch { .. } | Frame::Other { .. } => None,
        }
    }

    fn number(&self) -> usize {
        match self {
            Frame::Branch { number, .. }
            | Frame::Count { number, .. }
            | Frame::Chosen { number, .. }
            | Frame::Other { number, .. } => *number,
        }
    }
}

impl Values<'_> {
    /// The conditions under which an expression is true or false. One that is not known is `None`.
    pub fn conditions(&self, expr: &Expr, is_true: bool) -> Vec<Option<Condition>> {
        match &expr.kind {
            ExprKind::Bool(value) if *value == is_true => Vec::new(),
            ExprKind::Unary(UnaryOp::Not, operand) => self.conditions(operand, !is_true),
            ExprKind::Binary(BinaryOp::And, left, right) if is_true => self.both(left, right, true),
            ExprKind::Binary(BinaryOp::Or, left, right) if !is_true => self.both(left, right, false),
            ExprKind::Binary(op, left, right) if op.is_comparison() && matches!(left.ty, Type::Int(_)) => {
                vec![self.comparison(*op, left, right, is_true)]
            }
            ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
                if let Some(init) = self.locals[*local].constant() {
                    let conditions = self.conditions(init, is_true);
                    if conditions.iter().all(Option::is_some) {
                        return conditions;
                    }
                }
                vec![self.value(expr).map(|value| Condition::Truth { value, is_true })]
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::Load(_)
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Cast(_)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => vec![self.value(expr).map(|value| Condition::Truth { value, is_true })],
        }
    }

    fn both(&self, left: &Expr, right: &Expr, is_true: bool) -> Vec<Option<Condition>> {
        let mut conditions = self.conditions(left, is_true);
        conditions.extend(self.conditions(right, is_true));
        conditions
    }

    fn comparison(&self, op: BinaryOp, left: &Expr, right: &Expr, is_true: bool) -> Option<Condition> {
        let Type::Int(kind) = left.ty else { return None };
        let wide = [self.index(left), self.index(right)];
        let (left, right) = (self.value(left)?, self.value(right)?);
        // The comparison, whether its sides are exchanged, and the same of its negation.
        let [positive, negative] = match op {
            BinaryOp::Less => [(Comparison::Less, false), (Comparison::LessEqual, true)],
            BinaryOp::GreaterEqual => [(Comparison::LessEqual, true), (Comparison::Less, false)],
            BinaryOp::Greater => [(Comparison::Less, true), (Comparison::LessEqual, false)],
            BinaryOp::LessEqual => [(Comparison::LessEqual, false), (Comparison::Less, true)],
            BinaryOp::Equal => [(Comparison::Equal, false), (Comparison::NotEqual, false)],
            BinaryOp::NotEqual => [(Comparison::NotEqual, false), (Comparison::Equal, false)],
            BinaryOp::Add
            | BinaryOp::Subtract
            | BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Offset
            | BinaryOp::Distance => return None,
        };
        let (op, is_exchanged) = if is_true { positive } else { negative };
        let (left, right) = if is_exchanged { (right, left) } else { (left, right) };
        let wide = if let [Some(first), Some(second)] = wide { Some([first, second]) } else { None };
        let wide = wide.map(|[first, second]| if is_exchanged { [second, first] } else { [first, second] });
        Some(Condition::Compare { op, is_signed: kind.is_signed(), left, right, wide })
    }

    /// What an index is less than, by the branches around it.
    pub(super) fn upper_bounds(&self, index: &Polynomial, frames: &[Frame]) -> Vec<Polynomial> {
        let bound = |condition: &Condition| match condition {
            Condition::Compare { op: Comparison::Less, is_signed, left, right, .. } => {
                (self.as_index(left, *is_signed) == *index).then(|| self.as_index(right, *is_signed))
            }
            Condition::Compare { .. } | Condition::Truth { .. } => None,
        };
        known_conditions(frames).filter_map(bound).collect()
    }

    /// The greatest value of a sum by the branches around it: where `l < r` holds and the sum is `l - r + b`, that is `b - 1`,
    /// of a `b` that does not vary.
    pub(super) fn guarded_greatest(&self, sum: &Polynomial, frames: &[Frame], threads: Threads) -> Option<Polynomial> {
        let one = Polynomial::constant(1, INDEX_BITS);
        known_conditions(frames).find_map(|condition| match condition {
            Condition::Compare { op: Comparison::Less, wide: Some([left, right]), .. } => {
                let bound = sum.plus(-1, left)?.plus(1, right)?;
                if self.varies(&bound, threads) { None } else { bound.plus(-1, &one) }
            }
            Condition::Compare { .. } | Condition::Truth { .. } => None,
        })
    }

    /// Whether an index is not negative: it was unsigned, or counts the threads of a launch, or a branch around it says
    /// so.
    ///
    /// *The premise on coordinates*: sums of products of coordinates and extents, such as
    /// `blockIdx.x * blockDim.x + threadIdx.x`, do not wrap, nor when they become signed.
    pub(super) fn is_natural(&self, index: &Polynomial, frames: &[Frame]) -> bool {
        let mut terms = index.terms();
        let by_form = match (terms.next(), terms.next()) {
            (Some((&[atom], 1)), None) => match self.atom_of(atom) {
                Atom::Widened { is_signed, value } => !is_signed || self.counts_threads(&value),
                Atom::Variable(_) | Atom::Builtin(_) | Atom::Operation { .. } | Atom::Loaded { .. } => false,
            },
            (_, _) => false,
        };
        let says = |condition: &Condition| match condition {
            Condition::Compare { op: Comparison::LessEqual, is_signed: true, left, right, .. } => {
                left.as_constant() == Some(0) && self.as_index(right, true) == *index
            }
            Condition::Compare { .. } | Condition::Truth { .. } => false,
        };
        by_form || known_conditions(frames).any(says)
    }

    fn counts_threads(&self, value: &Polynomial) -> bool {
        let is_builtin = |atom: &AtomId| matches!(self.atom_of(*atom), Atom::Builtin(_));
        value.terms().all(|(product, factor)| factor == 1 && !product.is_empty() && product.iter().all(is_builtin))
    }

    /// A value that is compared, as an index.
    fn as_index(&self, value: &Polynomial, is_signed: bool) -> Polynomial {
        if value.bits == INDEX_BITS { value.clone() } else { self.widen(value.clone(), is_signed, INDEX_BITS) }
    }

    /// The values of a loop's counter, if its head says and does not change.
    pub fn range(&self, for_loop: &For) -> Option<Range> {
        let Type::Int(kind) = self.function.locals[for_loop.counter].ty else { return None };
        let values = [&for_loop.from, &for_loop.to, &for_loop.by].map(|expr| self.value(expr));
        let [Some(from), Some(to), Some(by)] = values else { return None };
        let depends = |value: &Polynomial| self.mentions(value, &mut |atom| *atom == Atom::Variable(for_loop.counter));
        if for_loop.to.ty != Type::Int(kind) || depends(&to) || depends(&by) {
            return None;
        }
        let wide = match [&for_loop.from, &for_loop.to, &for_loop.by].map(|expr| self.index(expr)) {
            [Some(from), Some(to), Some(by)] => Some([from, to, by]),
            [..] => None,
        };
        Some(Range { kind, from, test: for_loop.test, to, step: for_loop.step, by, wide })
    }

    /// *Reached only when.* If this gives counters, then whenever a thread runs a statement inside `inner`, it also
    /// runs one inside `outer`, with the counters of the loops around that having the values of their counterparts.
    ///
    /// Each branch of `outer` is one of `inner` too, or its conditions are among those of `inner`. Each loop of
    /// `outer` is one of `inner` too, or a loop of `inner` has a counter with no other values, or `inner` has a variable that
    /// was chosen among these. There are no jumps, so
    /// that all of a branch or iteration runs if it is begun.
    pub fn reached_with(&self, outer: &[Frame], inner: &[Frame]) -> Option<Vec<Counterpart>> {
        let mut counters = Vec::new();
        self.match_frames(outer, inner, &mut counters).then_some(counters)
    }

    fn match_frames(&self, outer: &[Frame], inner: &[Frame], counters: &mut Vec<Counterpart>) -> bool {
        let Some((frame, rest)) = outer.split_first() else { return true };
        let same = inner.iter().find(|other| other.number() == frame.number());
        match frame {
            Frame::Branch { is_then, conditions, .. } => {
                let is_same = matches!(same, Some(Frame::Branch { is_then: other, .. }) if other == is_then);
                let holds = |condition: &Option<Condition>| {
                    condition.as_ref().is_some_and(|condition| self.holds_in(condition, inner, counters))
                };
                (is_same || same.is_none() && conditions.iter().all(holds)) && self.match_frames(rest, inner, counters)
            }
            Frame::Count { counter, range, .. } => {
                if same.is_some() {
                    counters.push(self.renaming(*counter, *counter));
                    return self.match_frames(rest, inner, counters);
                }
                inner.iter().any(|other| {
                    let Some((other, other_range)) = other.counted() else { return false };
                    if counters.iter().any(|taken| taken.other == other) {
                        return false;
                    }
                    let range = range.as_ref().and_then(|range| self.renamed_range(range, counters));
                    let Some(found) = range.and_then(|range| self.counterpart(*counter, &range, other, other_range))
                    else {
                        return false;
                    };
                    let before = counters.len();
                    counters.push(found);
                    let is_match = self.match_frames(rest, inner, counters);
                    if !is_match {
                        counters.truncate(before);
                    }
                    is_match
                })
            }
            Frame::Chosen { variable, .. } => {
                counters.push(self.renaming(*variable, *variable));
                same.is_some() && self.match_frames(rest, inner, counters)
            }
            Frame::Other { .. } => same.is_some() && self.match_frames(rest, inner, counters),
        }
    }

    /// Whether one of the branches around a statement tests a condition.
    fn holds_in(&self, condition: &Condition, frames: &[Frame], counters: &[Counterpart]) -> bool {
        let Some(condition) = self.renamed_condition(condition, counters) else { return false };
        frames.iter().any(|frame| match frame {
            Frame::Branch { conditions, .. } => conditions.contains(&Some(condition.clone())),
            Frame::Count { .. } | Frame::Chosen { .. } | Frame::Other { .. } => false,
        })
    }

    fn renamed_condition(&self, condition: &Condition, counters: &[Counterpart]) -> Option<Condition> {
        Some(match condition {
            Condition::Compare { op, is_signed, left, right, wide } => {
                let renamed = |value: &Polynomial| self.renamed(value, counters);
                let wide = wide.as_ref().and_then(|[left, right]| Some([renamed(left)?, renamed(right)?]));
                let (left, right) = (renamed(left)?, renamed(right)?);
                Condition::Compare { op: *op, is_signed: *is_signed, left, right, wide }
            }
            Condition::Truth { value, is_true } => {
                Condition::Truth { value: self.renamed(value, counters)?, is_true: *is_true }
            }
        })
    }

    fn renamed_range(&self, range: &Range, counters: &[Counterpart]) -> Option<Range> {
        let [from, to, by] = [&range.from, &range.to, &range.by].map(|value| self.renamed(value, counters));
        let renamed = |value: &Polynomial| self.renamed(value, counters);
        let wide = range.wide.as_ref().and_then(|[from, to, by]| Some([renamed(from)?, renamed(to)?, renamed(by)?]));
        Some(Range { from: from?, to: to?, by: by?, wide, ..range.clone() })
    }

    /// *The same iterations.* A counter in terms of another, if it takes the value that this gives in each iteration
    /// of the other.
    ///
    /// Heads that are equal do. A signed counter from `a` up to below `b` by one takes the values of one from `b - 1`
    /// down to `a` by one. One that goes up by `s` takes those of one from `a + ((b - a + s - 1) / s - 1) * s` down to
    /// `a` by `s`: that is the last value if there is one, and below `a` if there is none. And it takes the values
    /// `a + (k - 1) * s` of a `k` that goes down by one from the number of iterations, `a < b ? (b - a - 1) / s + 1 : 0`,
    /// to 1.
    fn counterpart(&self, counter: LocalId, range: &Range, other: LocalId, other_range: &Range) -> Option<Counterpart> {
        let is_same = other_range == range
            || bounds(other_range).is_some_and(|these| Some(these) == bounds(range))
            || self.is_mirrored(other_range, range) == Some(true);
        if is_same {
            return Some(self.renaming(counter, other));
        }
        let is_number = other_range.kind == range.kind
            && (other_range.test, other_range.step) == (BinaryOp::Greater, BinaryOp::Subtract)
            && other_range.to.as_constant() == Some(0)
            && other_range.by.as_constant() == Some(1)
            && self.iterations(range).as_ref() == Some(&other_range.from);
        if !is_number {
            return None;
        }
        let is_signed = range.kind.is_signed();
        let direction = if range.step == BinaryOp::Add { 1 } else { -1 };
        let value_after = |from: &Polynomial, by: &Polynomial, number: Polynomial| {
            let index = number.plus(-1, &Polynomial::constant(1, number.bits))?;
            from.plus(direction, &index.times(by)?)
        };
        let number = self.atom(Atom::Variable(other), range.kind.bits());
        let value = value_after(&range.from, &range.by, number.clone())?;
        let index = if range.kind.bits() == INDEX_BITS {
            value.clone()
        } else if is_signed {
            let [from, _, by] = range.wide.as_ref()?;
            value_after(from, by, self.widen(number, true, INDEX_BITS))?
        } else {
            self.widen(value.clone(), false, INDEX_BITS)
        };
        Some(Counterpart { counter, other, is_signed, value, index })
    }

    /// Another counter with the same values.
    fn renaming(&self, counter: LocalId, other: LocalId) -> Counterpart {
        let kind = match self.function.locals[counter].ty {
            Type::Int(kind) => kind,
            // Counters of other types are in no index.
            Type::Void
            | Type::Bool
            | Type::Float(_)
            | Type::Pointer(_)
            | Type::Array(..)
            | Type::Record(_)
            | Type::Opaque(_) => IntKind::Long,
        };
        let value = self.atom(Atom::Variable(other), kind.bits());
        let is_wide = kind.bits() == INDEX_BITS;
        let index = if is_wide { value.clone() } else { self.widen(value.clone(), kind.is_signed(), INDEX_BITS) };
        Counterpart { counter, other, is_signed: kind.is_signed(), value, index }
    }

    /// How often a counted loop runs.
    fn iterations(&self, range: &Range) -> Option<Polynomial> {
        let (low, high) = match range.step {
            BinaryOp::Add => (&range.from, &range.to),
            BinaryOp::Subtract => (&range.to, &range.from),
            BinaryOp::Multiply
            | BinaryOp::Divide
            | BinaryOp::Remainder
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Offset
            | BinaryOp::Distance => return None,
        };
        let is_up = range.step == BinaryOp::Add;
        let least = match (range.test, is_up) {
            (BinaryOp::Less, true) | (BinaryOp::Greater, false) => 1,
            (BinaryOp::LessEqual, true) | (BinaryOp::GreaterEqual, false) => 0,
            (_, _) => return None,
        };
        let (bits, ty) = (range.kind.bits(), Type::Int(range.kind));
        let constant = |value| Polynomial::constant(value, bits);
        let typed = |value: &Polynomial| (ty.clone(), value.clone());
        let distance = high.plus(-1, low)?.plus(-1, &constant(least))?;
        let rounds =
            self.operation(Operation::Binary(BinaryOp::Divide), vec![typed(&distance), typed(&range.by)], bits);
        let rounds = rounds.plus(1, &constant(1))?;
        let runs = self.operation(Operation::Binary(range.test), vec![typed(&range.from), typed(&range.to)], 1);
        let operands = vec![(Type::Bool, runs), typed(&rounds), typed(&constant(0))];
        Some(self.operation(Operation::Select, operands, bits))
    }

    fn is_mirrored(&self, down: &Range, up: &Range) -> Option<bool> {
        let is_form = down.kind == up.kind
            && up.kind.is_signed()
            && (up.test, up.step) == (BinaryOp::Less, BinaryOp::Add)
            && (down.test, down.step) == (BinaryOp::GreaterEqual, BinaryOp::Subtract);
        if !is_form || down.by != up.by || down.to != up.from {
            return Some(false);
        }
        let one = Polynomial::constant(1, up.kind.bits());
        let ty = Type::Int(up.kind);
        let span = up.to.plus(-1, &up.from)?.plus(1, &up.by)?.plus(-1, &one)?;
        let operands = vec![(ty.clone(), span), (ty, up.by.clone())];
        let count = self.operation(Operation::Binary(BinaryOp::Divide), operands, up.kind.bits());
        let last = up.from.plus(1, &count.plus(-1, &one)?.times(&up.by)?)?;
        Some(last == down.from)
    }
}

/// The conditions of all branches around a statement that are known.
fn known_conditions(frames: &[Frame]) -> impl Iterator<Item = &Condition> {
    let conditions = frames.iter().flat_map(|frame| match frame {
        Frame::Branch { conditions, .. } => conditions.as_slice(),
        Frame::Count { .. } | Frame::Chosen { .. } | Frame::Other { .. } => &[],
    });
    conditions.flatten()
}

/// The least and the greatest value of a signed counter that goes on by one, up or down.
fn bounds(range: &Range) -> Option<[Polynomial; 2]> {
    if range.kind.is_signed() { ends(range, &range.from, &range.to) } else { None }
}

/// The same as indices. An unsigned counter that goes up to below a bound stays below it, and the bound is above zero
/// whenever there is an iteration.
pub(super) fn index_bounds(range: &Range) -> Option<[Polynomial; 2]> {
    let [from, to, _] = range.wide.as_ref()?;
    let is_upward = (range.test, range.step) == (BinaryOp::Less, BinaryOp::Add);
    if range.kind.is_signed() || is_upward { ends(range, from, to) } else { None }
}

fn ends(range: &Range, from: &Polynomial, to: &Polynomial) -> Option<[Polynomial; 2]> {
    let one = Polynomial::constant(1, from.bits);
    let by = range.by.as_constant()?;
    let by = if range.step == BinaryOp::Subtract { -by } else { by };
    let is_sum = matches!(range.step, BinaryOp::Add | BinaryOp::Subtract);
    let is_up = is_sum && by == 1;
    let is_down = is_sum && by == -1;
    if is_up && range.test == BinaryOp::Less {
        Some([from.clone(), to.plus(-1, &one)?])
    } else if is_up && range.test == BinaryOp::LessEqual {
        Some([from.clone(), to.clone()])
    } else if is_down && range.test == BinaryOp::Greater {
        Some([to.plus(1, &one)?, from.clone()])
    } else if is_down && range.test == BinaryOp::GreaterEqual {
        Some([to.clone(), from.clone()])
    } else {
        None
    }
}
