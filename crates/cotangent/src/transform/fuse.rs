//! Runs the two sweeps of a loop at once, where nothing stands between them.
//!
//! The reverse sweep of a loop comes to the forward sweep if both have the same header, so that their iterations run in the same
//! order, and if no iteration of the one disturbs an iteration of the other. What stands between them must let the reverse
//! sweep pass; a statement that it depends on goes before the loop, if the loop lets it. So an adjoint that the loop takes in
//! must be known before the loop.
//!
//! Likewise what stands under one condition comes together, so that it is tested once.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::drop_again::drop_again;
use super::locals::rename;
use crate::analysis::locals::locals;
use crate::analysis::touch::{Touch, Touches};
use crate::ir::same::same_expr;
use crate::ir::walk::{self, PartMut};
use crate::ir::{Block, For, Function, FunctionId, LocalId, Module, Stmt, StmtKind};

/// Fuses the sweeps of one function. `copies` says which variables of the reverse sweep stand for which of the forward sweep.
pub(super) fn fuse(module: &mut Module, id: FunctionId, copies: &HashMap<LocalId, LocalId>) {
    let mut has_sweeps = false;
    walk::each_stmt(&module.functions[id].body, &mut |stmt| has_sweeps |= may_fuse(stmt));
    if has_sweeps {
        let body = fused(module, &module.functions[id], copies);
        module.functions[id].body = body;
    }
}

fn fused(module: &Module, original: &Function, copies: &HashMap<LocalId, LocalId>) -> Block {
    let uses = locals(original);
    let mut body = original.body.clone();
    fuse_block(&Touches::new(module, original, &uses), &mut body, copies);
    body
}

/// How many statements may stand between two sweeps: those farther apart are of a long function, where a branch or a loop
/// less is little, and looking at all between would cost the square of its length.
const REACH: usize = 256;

/// A statement, and what it touches.
struct Seen {
    stmt: Stmt,
    touch: Touch,
}

fn fuse_block(touches: &Touches<'_>, block: &mut Block, copies: &HashMap<LocalId, LocalId>) {
    let look = |stmt: Stmt| Seen { touch: touches.stmt(&stmt), stmt };
    let mut seen: Vec<Seen> = std::mem::take(block).into_iter().map(look).collect();
    let mut later = 1;
    while later < seen.len() {
        match plan(touches, &seen, later, copies) {
            // The statement after it has taken its place.
            Some(plan) => plan.carry_out(touches, &mut seen, copies),
            None => later += 1,
        }
    }
    block.extend(seen.into_iter().map(|seen| seen.stmt));
    for stmt in block {
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let PartMut::Block(inner) = part {
                fuse_block(touches, inner, copies);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// Whether a statement may be the sweep of another.
fn may_fuse(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::For(_) | StmtKind::If { .. })
}

/// Two statements of a block that become one, and those between them that go before it, the last first.
struct Plan {
    earlier: usize,
    later: usize,
    moved: Vec<usize>,
}

/// How the statement at `later` comes to an earlier one; none if it stays where it is.
fn plan(touches: &Touches<'_>, block: &[Seen], later: usize, copies: &HashMap<LocalId, LocalId>) -> Option<Plan> {
    let second = &block[later];
    if !may_fuse(&second.stmt) {
        return None;
    }
    let near = later.saturating_sub(REACH)..later;
    let earlier = near.rev().find(|earlier| are_sweeps(&block[*earlier].stmt, &second.stmt, copies))?;
    let first = &block[earlier];
    if !can_join(touches, first, second) {
        return None;
    }
    let mut group = second.touch.clone();
    let mut moved = Vec::new();
    for between in (earlier + 1..later).rev() {
        let touch = &block[between].touch;
        if touches.commute(touch, &group) {
            continue;
        }
        if !touches.commute(touch, &first.touch) {
            return None;
        }
        group.join(touch);
        moved.push(between);
    }
    Some(Plan { earlier, later, moved })
}

/// Whether two statements are sweeps of one loop over the same iterations, or stand under the same condition.
fn are_sweeps(first: &Stmt, second: &Stmt, copies: &HashMap<LocalId, LocalId>) -> bool {
    match (&first.kind, &second.kind) {
        (StmtKind::For(first), StmtKind::For(second)) => {
            let origin = |head: &For| copies.get(&head.counter).copied().unwrap_or(head.counter);
            origin(first) == origin(second) && have_same_header(first, second)
        }
        (StmtKind::If { cond, .. }, StmtKind::If { cond: other, .. }) => same_expr(cond, other),
        (_, _) => false,
    }
}

/// Bounds that mention the counter are never the same: each loop has its own.
fn have_same_header(first: &For, second: &For) -> bool {
    first.test == second.test
        && first.step == second.step
        && same_expr(&first.from, &second.from)
        && same_expr(&first.to, &second.to)
        && same_expr(&first.by, &second.by)
}

fn can_join(touches: &Touches<'_>, first: &Seen, second: &Seen) -> bool {
    if let StmtKind::If { cond, .. } = &first.stmt.kind {
        return !first.touch.is_fixed() && !touches.disturbs(&first.touch, &touches.expr(cond));
    }
    // Iterations of the second now run before later ones of the first.
    touches.commute(&first.touch, &second.touch)
}

impl Plan {
    fn carry_out(self, touches: &Touches<'_>, block: &mut Vec<Seen>, copies: &HashMap<LocalId, LocalId>) {
        let Plan { earlier, later, moved } = self;
        let second = block.remove(later);
        let count = moved.len();
        let mut before: Vec<Seen> = moved.into_iter().map(|position| block.remove(position)).collect();
        before.reverse();
        block.splice(earlier..earlier, before);
        let first = &mut block[earlier + count];
        join(&mut first.stmt, second.stmt, copies);
        first.touch = touches.stmt(&first.stmt);
    }
}

fn join(first: &mut Stmt, second: Stmt, copies: &HashMap<LocalId, LocalId>) {
    match (&mut first.kind, second.kind) {
        (StmtKind::For(first), StmtKind::For(second)) => {
            let mut body = second.body;
            rename(&mut body, &HashMap::from([(second.counter, first.counter)]));
            drop_again(&mut first.body, &mut body, copies);
            first.body.extend(body);
        }
        (
            StmtKind::If { then_block, else_block, .. },
            StmtKind::If { then_block: more_then, else_block: more_else, .. },
        ) => {
            then_block.extend(more_then);
            else_block.extend(more_else);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};

    /// How many loops and branches a body has when its sweeps are fused.
    fn fused(body: &str) -> (usize, usize) {
        let source = format!("host f(x: double*, y: double*, dx: double*, dy: double*, n: int, c: int) {{ {body} }}");
        let mut module = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
        let locals = &module.functions[FunctionId(0)].locals;
        let named = |name: &str| locals.ids().find(|local| locals[*local].name.as_ref() == name);
        let copies = named("j").zip(named("i")).into_iter().collect();
        fuse(&mut module, FunctionId(0), &copies);
        assert_eq!(validate(&module), Ok(()), "{}", text::print(&module));
        let printed = text::print(&module);
        (printed.matches("for ").count(), printed.matches("if ").count())
    }

    const SUM: &str = "let s: double = 0.0; for i: int = 0; i < n; i += 1 { s = (s + x[i]); }";

    #[test]
    fn sweeps_that_nothing_keeps_apart_become_one() {
        let known_before = "let seed: double = dy[0]; for j: int = 0; j < n; j += 1 { dx[j] += (seed * x[j]); }";
        assert_eq!(fused(&format!("{SUM} {known_before}")).0, 1);
        let passed = "y[0] = s; let seed: double = dy[0]; for j: int = 0; j < n; j += 1 { dx[j] += seed; }";
        assert_eq!(fused(&format!("{SUM} {passed}")).0, 1);
        let branch = "if (c < 3) { y[0] = 2.0; } dx[1] += 1.0; if (c < 3) { dx[0] += 1.0; }";
        assert_eq!(fused(branch).1, 1);
    }

    #[test]
    fn an_adjoint_that_the_loop_computes_keeps_the_sweeps_apart() {
        let after = "let seed: double = (s * 2.0); for j: int = 0; j < n; j += 1 { dx[j] += seed; }";
        assert_eq!(fused(&format!("{SUM} {after}")).0, 2);
        let by_steps =
            "let a: double = s; let seed: double = (a * 2.0); for j: int = 0; j < n; j += 1 { dx[j] += seed; }";
        assert_eq!(fused(&format!("{SUM} {by_steps}")).0, 2);
    }

    #[test]
    fn loops_over_other_iterations_stay_apart() {
        for header in ["j: int = 1; j < n; j += 1", "j: int = 0; j <= n; j += 1", "j: int = 0; j < c; j += 1"] {
            assert_eq!(fused(&format!("{SUM} for {header} {{ dx[j] += 1.0; }}")).0, 2, "{header}");
        }
        let bound_changes = "n = (n + 1); for j: int = 0; j < n; j += 1 { dx[j] += 1.0; }";
        assert_eq!(fused(&format!("{SUM} {bound_changes}")).0, 2);
    }

    #[test]
    fn iterations_that_disturb_each_other_stay_apart() {
        let overwritten =
            "for i: int = 0; i < n; i += 1 { x[i] = y[i]; } for j: int = 0; j < n; j += 1 { dx[j] += x[j]; }";
        assert_eq!(fused(overwritten).0, 2);
        let other_way = "for i: int = 0; i < n; i += 1 { y[i] = x[i]; } for j: int = 0; j < n; j += 1 { x[j] = 0.0; }";
        assert_eq!(fused(other_way).0, 2);
        let left = "for i: int = 0; i < n; i += 1 { if (x[i] > 0.0) { break; } } for j: int = 0; j < n; j += 1 { dx[j] += 1.0; }";
        assert_eq!(fused(left).0, 2);
    }

    #[test]
    fn what_stands_between_and_is_disturbed_keeps_sweeps_apart() {
        let read_between = "y[0] = dx[1]; for j: int = 0; j < n; j += 1 { dx[j] += 1.0; }";
        assert_eq!(fused(&format!("{SUM} {read_between}")).0, 1, "it can go before the loop");
        let stuck = "y[0] = (dx[1] * s); for j: int = 0; j < n; j += 1 { dx[j] += 1.0; }";
        assert_eq!(fused(&format!("{SUM} {stuck}")).0, 2);
        let condition = "if (x[0] < 3.0) { x[0] = 5.0; } if (x[0] < 3.0) { dx[0] += 1.0; }";
        assert_eq!(fused(condition).1, 2);
    }
}
