//! How many slots of the record a thread needs, as a formula that the host computes before the launch.
//!
//! It is read off the kernel that would count them. Where a loop's header tells how often it runs, in terms of the launch and of
//! the kernel's parameters, and no branch inside depends on anything else, a product stands for the loop; the most that any
//! thread needs is what the first one needs. Anything else is counted: a formula that allows for all that might be recorded
//! could ask for far more memory than is used.

use super::launch_values::{axis, of_launch};
use crate::analysis::affine::{Atom, Values};
use crate::analysis::locals::locals;
use crate::analysis::race::written;
use crate::analysis::root::Roots;
use crate::ir::{
    Axis, BinaryOp, Block, Builtin, Expr, ExprKind, For, Function, LocalId, Module, Stmt, StmtKind, Type, walk,
};

/// The slots that a thread of a kernel needs at most, a `size_t` in terms of the parameters of the kernel that counts them and of
/// the sizes of the launch.
pub(super) fn slots(module: &Module, counting: &Function) -> Option<Expr> {
    let Some(Stmt { kind: StmtKind::Atomic { value, .. }, .. }) = counting.body.last() else { return None };
    let count = value.as_local()?;
    let uses = locals(counting);
    let roots = Roots::new(module, counting, &uses);
    let values = Values::new(module, counting, &uses, &roots, written(&roots, &counting.body));
    let Slots { fixed, more } = Counter { values: &values, count }.block(&counting.body, false)?;
    let fixed = if fixed == 0 && !more.is_empty() { None } else { Some(size(fixed)) };
    more.into_iter().chain(fixed).reduce(|sum, one| Expr::binary(BinaryOp::Add, sum, one))
}

/// So many, and as many more as these are.
#[derive(Clone, PartialEq, Default)]
struct Slots {
    fixed: i128,
    more: Vec<Expr>,
}

impl Slots {
    fn of(fixed: i128) -> Slots {
        Slots { fixed, more: Vec::new() }
    }

    fn and(mut self, other: Slots) -> Slots {
        self.fixed += other.fixed;
        self.more.extend(other.more);
        self
    }

    fn times(self, trips: &Expr) -> Slots {
        let by = |slots: Expr| match slots.as_int() {
            Some(1) => trips.clone(),
            _ => Expr::binary(BinaryOp::Multiply, slots, trips.clone()),
        };
        if let Some(trips) = trips.as_int() {
            let more = self.more.into_iter().map(|slots| Expr::binary(BinaryOp::Multiply, slots, size(trips)));
            return Slots { fixed: self.fixed * trips, more: more.collect() };
        }
        let fixed = (self.fixed > 0).then(|| size(self.fixed));
        Slots { fixed: 0, more: self.more.into_iter().chain(fixed).map(by).collect() }
    }
}

struct Counter<'a, 'f> {
    values: &'a Values<'f>,
    count: LocalId,
}

impl Counter<'_, '_> {
    fn block(&self, block: &Block, is_in_loop: bool) -> Option<Slots> {
        block.iter().map(|stmt| self.stmt(stmt, is_in_loop)).try_fold(Slots::default(), |sum, one| Some(sum.and(one?)))
    }

    fn stmt(&self, stmt: &Stmt, is_in_loop: bool) -> Option<Slots> {
        if !self.counts(stmt) {
            return Some(Slots::default());
        }
        if let StmtKind::Declare { init: Some(init), .. } = &stmt.kind {
            return init.as_int().map(Slots::of);
        }
        if let StmtKind::Assign { value: Expr { kind: ExprKind::Binary(BinaryOp::Add, before, more), .. }, .. } =
            &stmt.kind
        {
            return more.as_int().filter(|_| before.as_local() == Some(self.count)).map(Slots::of);
        }
        if let StmtKind::If { cond, then_block, else_block } = &stmt.kind {
            let parts = [self.block(then_block, is_in_loop)?, self.block(else_block, is_in_loop)?];
            return self.either(cond, parts, is_in_loop);
        }
        let StmtKind::For(head) = &stmt.kind else { return None };
        let mut is_left = false;
        walk::each_stmt(&head.body, &mut |stmt| is_left |= matches!(stmt.kind, StmtKind::Break));
        if is_left {
            return None;
        }
        let slots = self.block(&head.body, true)?;
        Some(slots.times(&self.trips(head)?))
    }

    /// Whether a statement changes the count, or leaves the kernel.
    fn counts(&self, stmt: &Stmt) -> bool {
        let mut counts = false;
        walk::each_stmt(std::slice::from_ref(stmt), &mut |inner| {
            let given = walk::declared_local(inner) == Some(self.count);
            let written = walk::written_places(inner).into_iter().any(|place| place.as_local() == Some(self.count));
            counts |= given || written || matches!(inner.kind, StmtKind::Return(_));
        });
        counts
    }

    /// What one of two branches needs: the larger, if every launch has threads that take it, as guards of the ends of arrays do.
    fn either(&self, cond: &Expr, [one, other]: [Slots; 2], is_in_loop: bool) -> Option<Slots> {
        if one == other {
            return Some(one);
        }
        let is_guard = self.is_of_the_launch(cond);
        match (one.more.is_empty(), other.more.is_empty()) {
            (true, true) if is_guard || !is_in_loop => Some(Slots::of(one.fixed.max(other.fixed))),
            (false, true) if is_guard && one.fixed >= other.fixed => Some(one),
            (true, false) if is_guard && other.fixed >= one.fixed => Some(other),
            _ => None,
        }
    }

    /// Whether a condition depends on nothing but which thread it is, and on the kernel's parameters.
    fn is_of_the_launch(&self, expr: &Expr) -> bool {
        !walk::loads_any(expr, &mut |place| {
            let Some(local) = place.as_local() else { return true };
            let uses = &self.values.locals[local];
            let is_param = self.values.function.params.contains(&local);
            let is_fine = || uses.constant().is_some_and(|value| self.is_of_the_launch(value));
            !(uses.is_constant() && (is_param || is_fine()))
        })
    }

    /// How often a loop runs in the thread that runs it most.
    fn trips(&self, head: &For) -> Option<Expr> {
        let upwards = match (head.step, head.test) {
            (BinaryOp::Add, BinaryOp::Less | BinaryOp::LessEqual) => true,
            (BinaryOp::Subtract, BinaryOp::Greater | BinaryOp::GreaterEqual) => false,
            _ => return None,
        };
        let by = of_launch(self.values, &head.by).filter(is_positive)?;
        let to = of_launch(self.values, &head.to)?;
        let from = match of_launch(self.values, &head.from) {
            Some(from) => from,
            // The first thread begins first.
            None if upwards && self.is_coordinate(&head.from) => Expr::new(ExprKind::Int(0), head.from.ty.clone()),
            None => return None,
        };
        let is_included = matches!(head.test, BinaryOp::LessEqual | BinaryOp::GreaterEqual);
        let [low, high] = if upwards { [&from, &to] } else { [&to, &from] };
        if let (Some(low), Some(high), Some(by)) = (low.as_int(), high.as_int(), by.as_int()) {
            let numbers = high - low + i128::from(is_included);
            return Some(size(if numbers > 0 { (numbers + by - 1) / by } else { 0 }));
        }
        if from.is_int_zero() && by.as_int() == Some(1) && head.test == BinaryOp::Less {
            let chosen = ExprKind::Select(
                Box::new(Expr::binary(BinaryOp::Greater, to.clone(), from.clone())),
                Box::new(to.clone()),
                Box::new(from),
            );
            return Some(Expr::cast(Expr::new(chosen, to.ty), Type::SIZE));
        }
        let is_any = Expr::binary(head.test, from.clone(), to.clone());
        let in_long = |value: &Expr| value.as_int().map_or_else(|| Expr::cast(value.clone(), Type::LONG), long);
        let [low, high] = [low, high].map(in_long);
        let span = if low.as_int() == Some(0) { high } else { Expr::binary(BinaryOp::Subtract, high, low) };
        let plus = |value: Expr, more: i128| match more {
            0 => value,
            more if more < 0 => Expr::binary(BinaryOp::Subtract, value, long(-more)),
            more => match one_less(value.uncast()).filter(|_| more == 1) {
                Some(value) => Expr::cast(value.clone(), Type::LONG),
                None => Expr::binary(BinaryOp::Add, value, long(more)),
            },
        };
        let trips = if by.as_int() == Some(1) {
            plus(span, i128::from(is_included))
        } else {
            let last = plus(span, i128::from(is_included) - 1);
            plus(Expr::binary(BinaryOp::Divide, last, in_long(&by)), 1)
        };
        let chosen = ExprKind::Select(Box::new(is_any), Box::new(trips), Box::new(long(0)));
        Some(Expr::cast(Expr::new(chosen, Type::LONG), Type::SIZE))
    }

    /// Whether an expression is a coordinate of the thread, which is zero for the first.
    fn is_coordinate(&self, expr: &Expr) -> bool {
        let is = |builtin: Builtin| {
            let atom = self.values.atom(Atom::Builtin(builtin), 32);
            self.values.value(expr.uncast()).is_some_and(|value| value == atom)
        };
        axis(self.values, expr).is_some()
            || Axis::ALL.into_iter().any(|axis| is(Builtin::ThreadIdx(axis)) || is(Builtin::BlockIdx(axis)))
    }
}

/// What a number is one less than, where it says so.
fn one_less(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Binary(BinaryOp::Subtract, more, one) = &expr.kind else { return None };
    (one.as_int() == Some(1)).then_some(&**more)
}

/// Whether a number is above zero: a literal, or sizes of the launch.
fn is_positive(expr: &Expr) -> bool {
    let is_size = |expr: &Expr| matches!(expr.kind, ExprKind::Builtin(Builtin::BlockDim(_) | Builtin::GridDim(_)));
    if let ExprKind::Binary(BinaryOp::Multiply, left, right) = &expr.kind {
        return is_positive(left) && is_positive(right);
    }
    expr.as_cast().map_or(is_size(expr) || expr.as_int().is_some_and(|value| value > 0), is_positive)
}

fn size(value: i128) -> Expr {
    Expr::new(ExprKind::Int(value), Type::SIZE)
}

fn long(value: i128) -> Expr {
    Expr::new(ExprKind::Int(value), Type::LONG)
}
