//! Makes one addition of several that a thread makes to one place: `x[i] += a; …; x[i] += b;` is `…; x[i] += a + b;`.
//!
//! What stands between may add to the same array, whichever element, since additions may be made in any order. It may
//! not look at that array, nor change what the first addition reads.

use std::ops::ControlFlow;

use super::locals::in_type;
use crate::analysis::locals::locals;
use crate::analysis::root::{Root, Roots};
use crate::analysis::touch::{Touch, Touches};
use crate::ir::same::same_place;
use crate::ir::walk::{self, PartMut};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, Function, FunctionId, Module, Stmt, StmtKind};

/// How many statements an addition may pass: what is farther away is rarely the same place, and looking for it would
/// cost the square of the function's length.
const REACH: usize = 64;

/// How many additions may be one: a longer sum is a line that nobody reads.
const MOST_TERMS: usize = 16;

/// Merges the additions of a function to one place.
pub(super) fn merge(module: &mut Module, function: FunctionId) {
    let body = merged(module, &module.functions[function]);
    module.functions[function].body = body;
}

fn merged(module: &Module, original: &Function) -> Block {
    let uses = locals(original);
    let ctx = Ctx { roots: Roots::new(module, original, &uses), touches: Touches::new(module, original, &uses) };
    let mut body = original.body.clone();
    ctx.block(&mut body);
    body
}

struct Ctx<'f> {
    roots: Roots<'f>,
    touches: Touches<'f>,
}

/// What is known of a statement.
struct Seen {
    touch: Touch,
    /// How many additions it makes.
    terms: usize,
    /// Whether it was merged into another.
    is_gone: bool,
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
        let look = |stmt: &Stmt| Seen { touch: self.touches.stmt(stmt), terms: 1, is_gone: false };
        let mut seen: Vec<Seen> = block.iter().map(look).collect();
        for position in 0..block.len() {
            let Some(next) = self.next(block, &seen, position) else { continue };
            let first = block[position].clone();
            if let (StmtKind::Accumulate { value, place }, StmtKind::Accumulate { value: added, .. }) =
                (first.kind, &mut block[next].kind)
            {
                // In the type in which adjoints are computed, and then in the type of the place.
                let ty = place.ty.at_least_single();
                let sum = sum(in_type(value, &ty), in_type(added.clone(), &ty));
                *added = in_type(sum, &place.ty);
            }
            let (before, after) = seen.split_at_mut(next);
            before[position].is_gone = true;
            after[0].terms += before[position].terms;
            after[0].touch.join(&before[position].touch);
        }
        let mut seen = seen.iter();
        block.retain(|_| seen.next().is_none_or(|stmt| !stmt.is_gone));
    }

    /// The next addition to the same place, if the one at a position can wait until then.
    fn next(&self, block: &Block, seen: &[Seen], position: usize) -> Option<usize> {
        let StmtKind::Accumulate { place, .. } = &block[position].kind else { return None };
        // A variable of the thread is a register anyway.
        let is_own = |root: &Root| matches!(root, Root::Private(_) | Root::Unknown);
        if self.roots.place(place).iter().any(is_own) {
            return None;
        }
        let first = &seen[position];
        let later = block.iter().zip(seen).enumerate().skip(position + 1).filter(|(_, (_, seen))| !seen.is_gone);
        for (next, (stmt, passed)) in later.take(REACH) {
            if !self.touches.commute(&first.touch, &passed.touch) {
                return None;
            }
            if matches!(&stmt.kind, StmtKind::Accumulate { place: other, .. } if same_place(place, other)) {
                return (first.terms + passed.terms <= MOST_TERMS).then_some(next);
            }
        }
        None
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

    #[test]
    fn a_sum_has_an_end() {
        let body = "d_x[i] += x[j]; ".repeat(3 * MOST_TERMS);
        let text = format!("kernel k(x: const float*, d_x: float*, i: int, j: int) {{ {body} }}");
        let mut module = text::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        merge(&mut module, FunctionId(0));
        assert_eq!(validate(&module), Ok(()));
        assert_eq!(module.functions[FunctionId(0)].body.len(), 3);
    }
}
