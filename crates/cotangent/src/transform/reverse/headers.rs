//! Headers of counted loops: how often they run, which value the counter has in which iteration, and the header that runs
//! through the same values backwards.

use crate::ir::{BinaryOp, Block, Expr, ExprKind, For, LocalId, Stmt, StmtKind, Type};

/// Recorded values of loops with at most so many iterations, known beforehand, stay in the thread.
const MAX_LOCAL_RECORD: i128 = 64;

/// The body without an `if (c) break;` at its end, and that.
pub(super) fn split_exit(body: &[Stmt]) -> (&[Stmt], Option<&Stmt>) {
    if let Some((last, rest)) = body.split_last()
        && let StmtKind::If { then_block, .. } = &last.kind
        && matches!(then_block.as_slice(), [Stmt { kind: StmtKind::Break, .. }])
    {
        (rest, Some(last))
    } else {
        (body, None)
    }
}

/// The same loop with another body.
pub(super) fn with_body(stmt: &Stmt, body: Block) -> Stmt {
    let mut stmt = stmt.clone();
    match &mut stmt.kind {
        StmtKind::For(head) => head.body = body,
        StmtKind::While { body: inner, .. } => *inner = body,
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
        | StmtKind::Opaque { .. } => {}
    }
    stmt
}

/// How often a loop runs, if its header says so and it is not often.
pub(super) fn constant_trips(head: &For) -> Option<u64> {
    let (from, to, by) = (head.from.as_int()?, head.to.as_int()?, head.by.as_int()?);
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
pub(super) fn iteration_number(head: &For, counter: Expr) -> Expr {
    let distance = match (head.step, head.from.as_int()) {
        (BinaryOp::Subtract, _) => Expr::binary(BinaryOp::Subtract, head.from.clone(), counter),
        (_, Some(0)) => counter,
        _ => Expr::binary(BinaryOp::Subtract, counter, head.from.clone()),
    };
    if head.by.as_int() == Some(1) {
        return distance;
    }
    Expr::binary(BinaryOp::Divide, distance, head.by.clone())
}

/// Whether a counter that doubles or halves is above zero in every iteration: there are fewer of them than it has bits.
pub(super) fn keeps_bits(head: &For) -> bool {
    let is_halved = matches!(head.step, BinaryOp::Divide | BinaryOp::ShiftRight);
    let is_at_least = |expr: &Expr, least: i128| expr.as_int().is_some_and(|value| value >= least);
    if is_halved {
        head.test == BinaryOp::Greater && is_at_least(&head.to, 0)
            || head.test == BinaryOp::GreaterEqual && is_at_least(&head.to, 1)
    } else {
        matches!(head.test, BinaryOp::Less | BinaryOp::LessEqual) && is_at_least(&head.from, 1)
    }
}

/// The counter of the iteration of that number: one that doubles or halves is shifted.
pub(super) fn counter_of(head: &For, number: Expr) -> Expr {
    let ty = head.from.ty.clone();
    let shifted =
        |op, value: Expr| Expr::new(ExprKind::Binary(op, Box::new(value), Box::new(number.clone())), ty.clone());
    let power = || shifted(BinaryOp::ShiftLeft, Expr::new(ExprKind::Int(1), ty.clone()));
    match head.step {
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => shifted(head.step, head.from.clone()),
        BinaryOp::Multiply if head.from.as_int() == Some(1) => power(),
        BinaryOp::Multiply | BinaryOp::Divide => Expr::binary(head.step, head.from.clone(), power()),
        BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Remainder
        | BinaryOp::BitAnd
        | BinaryOp::BitOr
        | BinaryOp::BitXor
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Offset
        | BinaryOp::Distance => linear(head, Expr::cast(number, ty)),
    }
}

/// `from + number * by`.
pub(super) fn linear(head: &For, number: Expr) -> Expr {
    let distance = match head.by.as_int() {
        Some(1) => number,
        _ => Expr::binary(BinaryOp::Multiply, number, head.by.clone()),
    };
    if head.step == BinaryOp::Add && head.from.as_int() == Some(0) {
        return distance;
    }
    Expr::binary(head.step, head.from.clone(), distance)
}

/// How often a counted loop runs.
pub(super) fn trips(head: &For) -> Expr {
    let ty = head.from.ty.clone();
    if head.from.as_int() == Some(0) && head.by.as_int() == Some(1) && head.test == BinaryOp::Less {
        // An unsigned counter from zero: others count by the header turned around.
        return head.to.clone();
    }
    let int = |value: i128| Expr::new(ExprKind::Int(value), ty.clone());
    let (low, high) = if head.step == BinaryOp::Add { (&head.from, &head.to) } else { (&head.to, &head.from) };
    let distance = Expr::binary(BinaryOp::Subtract, high.clone(), low.clone());
    let is_strict = matches!(head.test, BinaryOp::Less | BinaryOp::Greater);
    let rounds = if head.by.as_int() == Some(1) {
        if is_strict { distance } else { Expr::binary(BinaryOp::Add, distance, int(1)) }
    } else {
        let distance = if is_strict { Expr::binary(BinaryOp::Subtract, distance, int(1)) } else { distance };
        let rounds = Expr::binary(BinaryOp::Divide, distance, head.by.clone());
        Expr::binary(BinaryOp::Add, rounds, int(1))
    };
    let runs = Expr::binary(head.test, head.from.clone(), head.to.clone());
    Expr::new(ExprKind::Select(Box::new(runs), Box::new(rounds), Box::new(int(0))), ty)
}

/// The header that runs through the same values backwards: for steps of one of a signed counter.
pub(super) fn turned(head: &For) -> Option<For> {
    let Type::Int(kind) = head.from.ty else { return None };
    if head.by.as_int() != Some(1) || !kind.is_signed() {
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
    let from = match (&from.kind, head.to.as_int()) {
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
        unroll: head.unroll,
        body: Block::new(),
    })
}

pub(super) fn numbered(counter: LocalId, from: Expr, test: BinaryOp, to: Expr, by: Expr, body: Block) -> For {
    For { counter, from, test, to, step: BinaryOp::Subtract, by, unroll: None, body }
}
