//! Which adjoints belong to one iteration: no other iteration of the loop touches that element.
//!
//! The index of the element must tell the iterations apart. It is a sum of counters with factors, of the loop and of loops inside,
//! and each factor is the one before it times the number of values of that counter: `(i * m + j) * n + k` with `j` below `m` and `k`
//! below `n`. Then no two of them give one index, whatever the counters are. Integers that wrap are not looked at there.
//!
//! Or it is the counter of the loop and what stays the same, as in `blockIdx.x * n + i`: a loop that ends gives its counter no
//! value twice, and sums wrap apart.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::Values;
use super::loops::Loop;
use crate::analysis::Object;
use crate::analysis::polynomial::{AtomId, Polynomial};
use crate::ir::same::same_place;
use crate::ir::walk::{self, Node};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, IntKind, LocalId, Place, PlaceKind, StmtKind, Type, UnaryOp};

const BITS: u32 = 64;

/// What the factor of the next counter must be.
type Factors = BTreeMap<LocalId, Polynomial>;

impl Values<'_> {
    /// The objects whose adjoints are touched by one iteration each, in one element each.
    pub(super) fn own_elements(&self, adjoints: &Block, it: &Loop<'_>) -> BTreeSet<Object> {
        let Some(head) = it.head else { return BTreeSet::new() };
        let mut elements: Vec<(&Place, BTreeSet<Object>)> = Vec::new();
        let mut loops = HashMap::from([(head.counter, head)]);
        let mut handed = BTreeSet::new();
        let _ = walk::visit_block(adjoints, &mut |node| {
            match node {
                Node::Place(place) if matches!(place.kind, PlaceKind::Element(..)) => {
                    elements.push((place, self.shadowed(place)));
                }
                Node::Stmt(stmt) => match &stmt.kind {
                    StmtKind::For(inner) => {
                        loops.insert(inner.counter, inner);
                    }
                    StmtKind::Call { args, .. } => {
                        let pointers = args.iter().filter(|arg| arg.ty.is_pointer());
                        pointers.for_each(|arg| handed.extend(self.shadowed_behind(&self.vars.reads(arg))));
                    }
                    StmtKind::Declare { .. }
                    | StmtKind::Assign { .. }
                    | StmtKind::Accumulate { .. }
                    | StmtKind::If { .. }
                    | StmtKind::While { .. }
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
                    | StmtKind::Opaque { .. } => {}
                },
                // An array may be reached by its name too, whatever pointers lead to it.
                Node::Place(place) if matches!(place.ty, Type::Float(_)) => handed.extend(self.named(place)),
                Node::Expr(Expr { kind: ExprKind::Load(place), ty: Type::Record(_), .. }) => {
                    handed.extend(self.named(place));
                }
                Node::Place(_) | Node::Expr(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        let is_owned = |object: &Object| {
            let touches = |objects: &BTreeSet<Object>| objects.iter().any(|other| other.overlaps(object));
            let mut places = elements.iter().filter(|(_, objects)| touches(objects)).map(|(place, _)| *place);
            let Some(first) = places.next() else { return false };
            !touches(&handed)
                && places.all(|place| same_place(place, first))
                && self.tells_apart(first, head.counter, &loops, it)
        };
        let all: BTreeSet<Object> = elements.iter().flat_map(|(_, objects)| objects.clone()).collect();
        all.into_iter().filter(is_owned).collect()
    }

    /// The object whose adjoint a place is a part of by its own name.
    fn named(&self, place: &Place) -> Option<Object> {
        self.vars.primal_of(walk::own_variable(place)?).map(Object::local)
    }

    /// Whether the index of an element is another one for each value of a counter.
    fn tells_apart(&self, place: &Place, counter: LocalId, loops: &HashMap<LocalId, &For>, it: &Loop<'_>) -> bool {
        let PlaceKind::Element(pointer, index) = &place.kind else { return false };
        let Some(base) = pointer.as_load().and_then(|place| place.as_local()) else { return false };
        if !self.is_fixed(base, it) {
            return false;
        }
        if self.is_shifted(index, counter, it) {
            return true;
        }
        let Some(mut factors) = self.factors(index, loops, it) else { return false };
        let is_zero = |factor: &Polynomial| factor.as_constant() == Some(0);
        if !factors.contains_key(&counter) || factors.values().any(is_zero) {
            return false;
        }
        let first = factors.iter().filter_map(|(local, factor)| Some((factor.as_constant()?.abs(), *local))).min();
        let Some((_, mut last)) = first else { return false };
        let Some(mut factor) = factors.remove(&last) else { return false };
        while !factors.is_empty() {
            let next = range(loops[&last]).and_then(|range| factor.times(&range));
            let Some(found) = factors.iter().find(|(_, factor)| Some(*factor) == next.as_ref()) else { return false };
            last = *found.0;
            let Some(removed) = factors.remove(&last) else { return false };
            factor = removed;
        }
        true
    }

    /// Whether an index is a counter and what stays the same, in all bits that the counter has.
    fn is_shifted(&self, index: &Expr, counter: LocalId, it: &Loop<'_>) -> bool {
        let Type::Int(kind) = index.ty else { return false };
        let Type::Int(bits) = self.vars.function.locals[counter].ty else { return false };
        if kind.bits() < bits.bits() {
            return false;
        }
        match &index.kind {
            ExprKind::Load(place) => place.as_local() == Some(counter),
            ExprKind::Cast(operand) => self.is_shifted(operand, counter, it),
            ExprKind::Binary(BinaryOp::Add, left, right) => {
                self.is_shifted(left, counter, it) && self.is_same_in_all(right, it)
                    || self.is_same_in_all(left, it) && self.is_shifted(right, counter, it)
            }
            ExprKind::Binary(BinaryOp::Subtract, left, right) => {
                self.is_shifted(left, counter, it) && self.is_same_in_all(right, it)
            }
            ExprKind::Bool(_)
            | ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Null
            | ExprKind::AddressOf(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Select(..)
            | ExprKind::Math(..)
            | ExprKind::Builtin(_)
            | ExprKind::SizeOf(_)
            | ExprKind::Construct(_) => false,
        }
    }

    /// Whether a value is computed from variables alone that stay the same.
    fn is_same_in_all(&self, value: &Expr, it: &Loop<'_>) -> bool {
        !walk::loads_any(value, &mut |place| !place.as_local().is_some_and(|local| self.is_fixed(local, it)))
    }

    /// The factors of the counters in an index, if all else in it stays the same in the loop.
    fn factors(&self, index: &Expr, loops: &HashMap<LocalId, &For>, it: &Loop<'_>) -> Option<Factors> {
        let mut factors = Factors::new();
        for (product, value) in polynomial(index)?.terms() {
            let (counters, rest): (Vec<AtomId>, Vec<AtomId>) =
                product.iter().partition(|atom| loops.contains_key(&LocalId(atom.0)));
            if counters.len() > 1 || !rest.iter().all(|atom| self.is_fixed(LocalId(atom.0), it)) {
                return None;
            }
            let constant = Polynomial::constant(value, BITS);
            let rest = rest.into_iter().try_fold(constant, |all, atom| all.times(&Polynomial::atom(atom, BITS)))?;
            if let [counter] = counters.as_slice() {
                let known = factors.remove(&LocalId(counter.0)).unwrap_or_else(|| Polynomial::constant(0, BITS));
                factors.insert(LocalId(counter.0), known.plus(1, &rest)?);
            }
        }
        Some(factors)
    }

    /// Whether a variable has one value in all iterations.
    fn is_fixed(&self, local: LocalId, it: &Loop<'_>) -> bool {
        let followed = self.vars.followed(local);
        !it.declared.contains(&followed)
            && !it.written.contains(&Object::local(followed))
            && self.vars.is_register(local)
            && (self.vars.is_primal(followed) || self.vars.primal_of(local).is_some())
    }
}

/// How many values a counter has, that counts by one.
fn range(head: &For) -> Option<Polynomial> {
    if head.by.as_int() != Some(1) {
        return None;
    }
    let (from, to) = (polynomial(&head.from)?, polynomial(&head.to)?);
    let one = Polynomial::constant(1, BITS);
    match (head.step, head.test) {
        (BinaryOp::Add, BinaryOp::Less) => to.plus(-1, &from),
        (BinaryOp::Add, BinaryOp::LessEqual) => to.plus(-1, &from)?.plus(1, &one),
        (BinaryOp::Subtract, BinaryOp::Greater) => from.plus(-1, &to),
        (BinaryOp::Subtract, BinaryOp::GreaterEqual) => from.plus(-1, &to)?.plus(1, &one),
        (_, _) => None,
    }
}

/// An integer as a polynomial in variables, if it does not wrap: signed ones may not, ones of 64 bits do not.
fn polynomial(expr: &Expr) -> Option<Polynomial> {
    let Type::Int(kind) = expr.ty else { return None };
    match &expr.kind {
        ExprKind::Int(value) => Some(Polynomial::constant(*value, BITS)),
        ExprKind::Load(place) => Some(Polynomial::atom(AtomId(place.as_local()?.0), BITS)),
        ExprKind::Cast(operand) if keeps_value(operand, kind) => polynomial(operand),
        ExprKind::Unary(UnaryOp::Negate, operand) if may_not_wrap(kind) => {
            Polynomial::constant(0, BITS).plus(-1, &polynomial(operand)?)
        }
        ExprKind::Binary(op, left, right) if may_not_wrap(kind) => {
            let (left, right) = (polynomial(left)?, polynomial(right)?);
            match op {
                BinaryOp::Add => left.plus(1, &right),
                BinaryOp::Subtract => left.plus(-1, &right),
                BinaryOp::Multiply => left.times(&right),
                BinaryOp::Divide
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
                | BinaryOp::Distance => None,
            }
        }
        ExprKind::Bool(_)
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
        | ExprKind::Construct(_) => None,
    }
}

fn may_not_wrap(kind: IntKind) -> bool {
    kind.bits() >= 32 && kind.is_signed() || kind.bits() == 64
}

/// Whether a conversion gives the number itself: to as many bits or more, with a sign or without one on both sides.
fn keeps_value(operand: &Expr, into: IntKind) -> bool {
    matches!(operand.ty, Type::Int(from) if from.bits() <= into.bits() && from.is_signed() == into.is_signed())
}
