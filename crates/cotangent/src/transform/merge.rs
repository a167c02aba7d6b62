//! Makes one addition of several that a thread makes to one place: `x[i] += a; …; x[i] += b;` is `…; x[i] += a + b;`.
//!
//! What stands between may add to the same array, whichever element, since additions may be made in any order. It may
//! not look at that array, nor change what the first addition reads.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::locals::in_type;
use crate::analysis::locals::locals;
use crate::analysis::ordering::may_meet;
use crate::analysis::root::{Root, Roots};
use crate::ir::same::same_place;
use crate::ir::walk::{self, Node, Part, PartMut};
use crate::ir::{AtomicOp, BinaryOp, Block, Expr, ExprKind, FunctionId, Module, Place, Stmt, StmtKind};

/// How many statements an addition may pass: what is farther away is rarely the same place, and looking for it would
/// cost the square of the function's length.
const REACH: usize = 64;

/// Merges the additions of a function to one place.
pub(super) fn merge(module: &mut Module, function: FunctionId) {
    let original = module.functions[function].clone();
    let uses = locals(&original);
    let ctx = Ctx { module, roots: Roots::new(module, &original, &uses) };
    let mut body = original.body.clone();
    ctx.block(&mut body);
    module.functions[function].body = body;
}

struct Ctx<'f> {
    module: &'f Module,
    roots: Roots<'f>,
}

/// What a statement does with memory and variables.
#[derive(Default)]
struct Touched {
    /// Whether threads may meet there, or more is done than is said here.
    is_closed: bool,
    /// What it reads, or changes other than by adding.
    looked_at: BTreeSet<Root>,
    /// What it changes.
    changed: BTreeSet<Root>,
}

impl Ctx<'_> {
    fn block(&self, block: &mut Block) {
        for stmt in block.iter_mut() {
            let _ = walk::stmt_parts_mut(stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    self.block(inner);
                }
                ControlFlow::<()>::Continue(())
            });
        }
        let mut touched: Vec<Touched> = block.iter().map(|stmt| self.touched(stmt)).collect();
        let mut position = 0;
        while position < block.len() {
            let Some(next) = self.next(block, &touched, position) else {
                position += 1;
                continue;
            };
            touched.remove(position);
            let first = block.remove(position);
            let merged = &mut block[next - 1];
            if let (StmtKind::Accumulate { value, place }, StmtKind::Accumulate { value: added, .. }) =
                (first.kind, &mut merged.kind)
            {
                // In the type in which adjoints are computed, and then in the type of the place.
                let ty = place.ty.at_least_single();
                let sum = sum(in_type(value, &ty), in_type(added.clone(), &ty));
                *added = in_type(sum, &place.ty);
            }
            touched[next - 1] = self.touched(&block[next - 1]);
        }
    }

    /// The next addition to the same place, if the one at a position can wait until then.
    fn next(&self, block: &Block, touched: &[Touched], position: usize) -> Option<usize> {
        let StmtKind::Accumulate { place, .. } = &block[position].kind else { return None };
        let to = self.roots.place(place);
        // A variable of the thread is a register anyway.
        let is_own = |root: &Root| matches!(root, Root::Private(_) | Root::Unknown);
        if to.iter().any(is_own) {
            return None;
        }
        let reads = &touched[position].looked_at;
        for (next, passed) in touched.iter().enumerate().skip(position + 1).take(REACH) {
            if passed.is_closed || may_meet_in(&passed.looked_at, &to) {
                return None;
            }
            if matches!(&block[next].kind, StmtKind::Accumulate { place: other, .. } if same_place(place, other)) {
                return Some(next);
            }
            if may_meet_in(&passed.changed, reads) {
                return None;
            }
        }
        None
    }

    fn touched(&self, stmt: &Stmt) -> Touched {
        let mut found = Touched::default();
        let _ = walk::visit_block(std::slice::from_ref(stmt), &mut |node| {
            match node {
                Node::Stmt(inner) => self.add(inner, &mut found),
                Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => {
                    found.looked_at.extend(self.roots.place(place));
                }
                Node::Expr(_) | Node::Place(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        found
    }

    fn add(&self, stmt: &Stmt, found: &mut Touched) {
        let written: BTreeSet<Root> =
            walk::written_places(stmt).into_iter().flat_map(|place: &Place| self.roots.place(place)).collect();
        found.changed.extend(written.iter().copied());
        match &stmt.kind {
            StmtKind::Accumulate { .. } | StmtKind::Atomic { op: AtomicOp::Add, into: None, .. } => {}
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. } => found.looked_at.extend(written),
            StmtKind::Call { .. } => {
                found.is_closed |= may_meet(self.module, stmt);
                found.looked_at.extend(written);
                self.add_given(stmt, found);
            }
            StmtKind::Switch { .. }
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
            | StmtKind::Opaque { .. } => found.is_closed = true,
        }
    }

    /// Adds what a called function may read and change: what it is given, and variables outside functions.
    fn add_given(&self, stmt: &Stmt, found: &mut Touched) {
        let written = self.roots.written_by_call(stmt);
        found.looked_at.extend(written.iter().copied());
        found.changed.extend(written);
        found.looked_at.extend(self.module.globals.ids().map(Root::Global));
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let Part::Expr(arg) = part {
                if arg.ty.is_pointer() {
                    found.looked_at.extend(self.roots.pointer(arg));
                }
                if self.roots.may_hold_pointer(arg.ty.pointee().unwrap_or(&arg.ty)) {
                    found.looked_at.insert(Root::Unknown);
                }
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

/// The sum of two sums, without parentheses.
fn sum(left: Expr, right: Expr) -> Expr {
    match right.kind {
        ExprKind::Binary(BinaryOp::Add, first, second) => Expr::binary(BinaryOp::Add, sum(left, *first), *second),
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
        | ExprKind::Construct(_) => Expr::binary(BinaryOp::Add, left, right),
    }
}

/// Whether two sets of memory may have some in common.
fn may_meet_in(left: &BTreeSet<Root>, right: &BTreeSet<Root>) -> bool {
    let is_anywhere =
        |some: &BTreeSet<Root>, others: &BTreeSet<Root>| some.contains(&Root::Unknown) && !others.is_empty();
    is_anywhere(left, right) || is_anywhere(right, left) || !left.is_disjoint(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{text, validate};
    use expect_test::{Expect, expect};

    fn merged(body: &str, expected: Expect) {
        let text = format!("kernel k(x: const float*, d_x: float*, d_y: float*, i: int, j: int) {{ {body} }}");
        let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        merge(&mut module, FunctionId(0));
        assert_eq!(validate(&module), Ok(()));
        expected.assert_eq(&text::print(&module));
    }

    #[test]
    fn additions_to_one_place_are_one_over_what_does_not_look() {
        merged(
            "d_x[i] += x[i];
             d_x[j] += x[j];
             if (i < j) { d_x[(i + 1)] += 1.0f; }
             let r: float = d_y[i];
             d_y[i] = 0.0f;
             d_x[j] += 2.0f;
             d_x[i] += r;",
            expect![[r#"
                kernel k(x: const float*, d_x: float*, d_y: float*, i: int, j: int) {
                  if (i < j) {
                    d_x[(i + 1)] += 1.0f;
                  }
                  let r: float = d_y[i];
                  d_y[i] = 0.0f;
                  d_x[j] += (x[j] + 2.0f);
                  d_x[i] += (x[i] + r);
                }
            "#]],
        );
    }

    #[test]
    fn a_look_a_meeting_or_a_change_keeps_them_apart() {
        merged(
            "d_x[i] += 1.0f;
             let p: float* = d_x;
             let seen: float = p[j];
             d_x[i] += seen;
             barrier block;
             d_x[i] += 2.0f;
             p[i] = 0.0f;
             d_x[i] += 3.0f;
             i = (i + 1);
             d_x[i] += 4.0f;
             d_y[j] += d_x[j];
             d_x[j] += 5.0f;
             d_y[j] += 6.0f;",
            expect![[r#"
                kernel k(x: const float*, d_x: float*, d_y: float*, i: int, j: int) {
                  d_x[i] += 1.0f;
                  let p: float* = d_x;
                  let seen: float = p[j];
                  d_x[i] += seen;
                  barrier block;
                  d_x[i] += 2.0f;
                  p[i] = 0.0f;
                  d_x[i] += 3.0f;
                  i = (i + 1);
                  d_x[i] += 4.0f;
                  d_y[j] += d_x[j];
                  d_x[j] += 5.0f;
                  d_y[j] += 6.0f;
                }
            "#]],
        );
    }
}
