//! A loop in stretches, so that less of it is recorded.
//!
//! What iterations begin with is recorded where it cannot be computed again. But a short loop inside another is computed again as
//! a whole, with its record in arrays of the thread (`plan/again.rs`). So `for (i = 0; i < n; ++i)` becomes
//!
//! ```text
//! for (i_stretch = 0; i_stretch < (n - 1) / 32 + 1; ++i_stretch)
//!   for (i_step = 0; i_step < 32; ++i_step)
//!     if (i_step < n - i_stretch * 32) { i = i_stretch * 32 + i_step; … }
//! ```
//!
//! which records what a stretch begins with (`docs/design/stretches.md`).

use std::collections::HashSet;
use std::ops::ControlFlow;

use super::headers::{linear, split_exit, trips};
use crate::ir::walk::{self, PartMut};
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, For, Function, LocalId, LoopTest, Module, Place, Stmt, StmtKind, Type, UnaryOp,
};
use crate::transform::locals::{NewLocals, assign, declare};
use crate::transform::normalize::address_taken;

/// Which of a function's loops, in the order of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct LoopNumber(pub(super) usize);

impl LoopNumber {
    /// The number of a loop that stands in a body.
    pub(super) fn of(body: &[Stmt], meant: &Stmt) -> Option<LoopNumber> {
        let (mut count, mut found) = (0, None);
        walk::each_stmt(body, &mut |stmt| {
            if std::ptr::eq(stmt, meant) {
                found = Some(LoopNumber(count));
            }
            count += usize::from(stmt.kind.is_loop());
        });
        found
    }
}

/// How many loops there are.
pub(super) fn loops_of(body: &[Stmt]) -> usize {
    let mut count = 0;
    walk::each_stmt(body, &mut |stmt| count += usize::from(stmt.kind.is_loop()));
    count
}

/// Has a loop run in stretches of so many iterations: it has the loop's number, and the loop of a stretch is the next. None for a
/// counted loop whose header does not tell, when the loop begins, how many iterations there are at most.
pub(super) fn stretched(module: &Module, function: &Function, number: LoopNumber, length: u64) -> Option<Function> {
    let mut pass = Pass {
        names: NewLocals::new(module, function),
        fixed: address_taken(function),
        function: function.clone(),
        loops_before: number.0,
        length: i128::from(length),
        is_done: false,
    };
    let mut body = std::mem::take(&mut pass.function.body);
    let _ = pass.block(&mut body);
    pass.is_done.then_some(Function { body, ..pass.function })
}

struct Pass {
    function: Function,
    names: NewLocals,
    /// Variables that pointers may lead to.
    fixed: HashSet<LocalId>,
    /// How many loops come before the one that is meant.
    loops_before: usize,
    length: i128,
    is_done: bool,
}

impl Pass {
    fn block(&mut self, block: &mut Block) -> ControlFlow<()> {
        for position in 0..block.len() {
            if block[position].kind.is_loop() {
                if self.loops_before == 0 {
                    let before = self.rewrite(&mut block[position]);
                    self.is_done = before.is_some();
                    block.splice(position..position, before.unwrap_or_default());
                    return ControlFlow::Break(());
                }
                self.loops_before -= 1;
            }
            walk::stmt_parts_mut(&mut block[position], &mut |part| {
                if let PartMut::Block(inner) = part { self.block(inner) } else { ControlFlow::Continue(()) }
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Puts two loops in the place of one; what comes before them.
    fn rewrite(&mut self, stmt: &mut Stmt) -> Option<Block> {
        let is_whole = !leaves(split_exit(stmt.kind.loop_body()?).0);
        match stmt.kind.clone() {
            StmtKind::For(head) if is_whole && self.is_counted(&head) => Some(self.rewrite_counted(&head, stmt)),
            StmtKind::While { cond, body, test } if is_whole => {
                self.rewrite_while(cond, &body, test, stmt);
                Some(Block::new())
            }
            StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Declare { .. }
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
            | StmtKind::Opaque { .. } => None,
        }
    }

    /// Whether the header is made of whole numbers that the loop does not change, and counts towards its bound.
    fn is_counted(&self, head: &For) -> bool {
        let mut written = HashSet::from([head.counter]);
        walk::each_stmt(&head.body, &mut |stmt| {
            written.extend(walk::written_places(stmt).into_iter().filter_map(walk::own_variable));
        });
        let is_kept = |place: &Place| {
            walk::own_variable(place).is_some_and(|local| !written.contains(&local) && !self.fixed.contains(&local))
        };
        let is_whole = |expr: &Expr| {
            matches!(expr.ty, Type::Int(kind) if kind.bits() >= 32)
                && expr.ty == head.from.ty
                && !walk::loads_any(expr, &mut |place| !is_kept(place))
        };
        let counts = matches!(
            (head.step, head.test),
            (BinaryOp::Add, BinaryOp::Less | BinaryOp::LessEqual)
                | (BinaryOp::Subtract, BinaryOp::Greater | BinaryOp::GreaterEqual)
        );
        counts && [&head.from, &head.to, &head.by].into_iter().all(is_whole)
    }

    /// A loop whose header counts: one too many of its stretches does nothing.
    fn rewrite_counted(&mut self, head: &For, stmt: &mut Stmt) -> Block {
        let ty = head.from.ty.clone();
        let name = self.function.locals[head.counter].name.clone();
        let [stretches, steps] =
            ["stretch", "step"].map(|word| self.names.add(&mut self.function, &format!("{name}_{word}"), ty.clone()));
        let int = |value: i128| Expr::new(ExprKind::Int(value), ty.clone());
        let load = |local: LocalId| Expr::load(Place::local(local, ty.clone()));
        let (mut before, mut count) = (Block::new(), trips(head));
        if !is_simple(&count) {
            let local = self.names.add(&mut self.function, &format!("{name}_count"), ty.clone());
            before.push(declare(local, Some(count)));
            count = load(local);
        }
        let first = Expr::binary(BinaryOp::Multiply, load(stretches), int(self.length));
        let left = Expr::binary(BinaryOp::Subtract, count.clone(), first.clone());
        let number = Expr::binary(BinaryOp::Add, first, load(steps));
        let (body, exit) = split_exit(&head.body);
        let mut iteration = vec![declare(head.counter, Some(linear(head, number)))];
        iteration.extend_from_slice(body);
        let ending = exit.map(|exit| {
            let ending = self.ending(&name);
            iteration.push(ended(exit, &ending, Block::new()));
            ending
        });
        let is_iteration = Expr::binary(BinaryOp::Less, load(steps), left);
        let body = self.stretch(steps, Some(is_iteration), ending, iteration, stmt);
        let rounds = self.rounds(count, &ty);
        stmt.kind = StmtKind::For(Box::new(counting(stretches, rounds, body)));
        before
    }

    /// A loop that ends by its condition: its stretches end with the one in which that happens.
    fn rewrite_while(&mut self, cond: Expr, body: &Block, test: LoopTest, stmt: &mut Stmt) {
        let steps = self.names.add(&mut self.function, "step", Type::INT);
        let ending = self.ending("loop");
        let (body, exit) = split_exit(body);
        let mut iteration = body.to_vec();
        let iteration = match test {
            LoopTest::Before => {
                iteration.extend(exit.map(|exit| ended(exit, &ending, Block::new())));
                let else_block = vec![assign(ending.clone(), truth(true))];
                vec![Stmt::new(StmtKind::If { cond, then_block: iteration, else_block }).at(stmt.span)]
            }
            LoopTest::After => {
                // Who leaves does not ask for the condition.
                let last = assign(ending.clone(), not(cond));
                iteration.push(exit.map_or(last.clone(), |exit| ended(exit, &ending, vec![last])));
                iteration
            }
        };
        let body = self.stretch(steps, None, Some(ending), iteration, stmt);
        stmt.kind = StmtKind::While { cond: truth(true), body, test: LoopTest::Before };
    }

    /// The variable that tells whether the loop has ended.
    fn ending(&mut self, name: &str) -> Place {
        Place::local(self.names.add(&mut self.function, &format!("{name}_ends"), Type::Bool), Type::Bool)
    }

    /// The steps of a stretch: those that are iterations of the loop, until that has ended.
    fn stretch(
        &self,
        steps: LocalId,
        is_iteration: Option<Expr>,
        ending: Option<Place>,
        iteration: Block,
        stmt: &Stmt,
    ) -> Block {
        let goes_on = ending.as_ref().map(|ending| not(Expr::load(ending.clone())));
        let both = |left: Expr, right: Expr| {
            Expr::new(ExprKind::Binary(BinaryOp::And, Box::new(left), Box::new(right)), Type::Bool)
        };
        let guarded = match is_iteration.into_iter().chain(goes_on).reduce(both) {
            Some(cond) => vec![when_only(cond, iteration).at(stmt.span)],
            None => iteration,
        };
        let length = Expr::new(ExprKind::Int(self.length), self.function.locals[steps].ty.clone());
        let inner = Stmt::new(StmtKind::For(Box::new(counting(steps, length, guarded)))).at(stmt.span);
        let begins = ending.as_ref().and_then(Place::as_local).map(|ending| declare(ending, Some(truth(false))));
        let leaves = ending.map(|ending| when_only(Expr::load(ending), vec![Stmt::new(StmtKind::Break)]));
        begins.into_iter().chain([inner]).chain(leaves).collect()
    }

    /// How many stretches there are. One too many does nothing, and a difference below zero must not wrap around.
    fn rounds(&self, count: Expr, ty: &Type) -> Expr {
        let int = |value: i128| Expr::new(ExprKind::Int(value), ty.clone());
        if let Some(count) = count.as_int() {
            return int((count + self.length - 1).div_euclid(self.length));
        }
        let is_signed = matches!(ty, Type::Int(kind) if kind.is_signed());
        let last = if is_signed { Expr::binary(BinaryOp::Subtract, count, int(1)) } else { count };
        Expr::binary(BinaryOp::Add, Expr::binary(BinaryOp::Divide, last, int(self.length)), int(1))
    }
}

/// An `if` that leaves a loop, as one that says so; `otherwise` runs where it does not.
fn ended(exit: &Stmt, ending: &Place, otherwise: Block) -> Stmt {
    let mut exit = exit.clone();
    if let StmtKind::If { then_block, else_block, .. } = &mut exit.kind {
        *then_block = vec![assign(ending.clone(), truth(true))];
        else_block.extend(otherwise);
    }
    exit
}

fn when_only(cond: Expr, then_block: Block) -> Stmt {
    Stmt::new(StmtKind::If { cond, then_block, else_block: Block::new() })
}

fn truth(value: bool) -> Expr {
    Expr::new(ExprKind::Bool(value), Type::Bool)
}

fn not(cond: Expr) -> Expr {
    Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(cond)), Type::Bool)
}

/// `for (counter = 0; counter < to; ++counter)`
fn counting(counter: LocalId, to: Expr, body: Block) -> For {
    let int = |value: i128| Expr::new(ExprKind::Int(value), to.ty.clone());
    let (from, by) = (int(0), int(1));
    For { counter, from, test: BinaryOp::Less, to, step: BinaryOp::Add, by, unroll: None, body }
}

/// Whether an expression can be written twice.
fn is_simple(expr: &Expr) -> bool {
    expr.as_int().is_some() || matches!(&expr.kind, ExprKind::Load(place) if place.as_local().is_some())
}

/// Whether a body leaves its loop.
fn leaves(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Break | StmtKind::Continue | StmtKind::Return(_) => true,
        StmtKind::If { then_block, else_block, .. } => leaves(then_block) || leaves(else_block),
        StmtKind::For(_)
        | StmtKind::While { .. }
        | StmtKind::Switch { .. }
        | StmtKind::Declare { .. }
        | StmtKind::Assign { .. }
        | StmtKind::Accumulate { .. }
        | StmtKind::Call { .. }
        | StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => false,
    })
}
