//! Atomics of the primal: a sum that many threads add to hands its adjoint to each of them.

use super::expr::seed_in;
use super::{Pair, Rules};
use crate::diagnostic::{Diagnostic, THREADS_ACTIVE};
use crate::ir::{AtomicOp, Block, Expr, Place, Stmt, UnaryOp};

impl Rules<'_> {
    /// An atomic: additions have an adjoint where nothing active is made of their results; others act on integers.
    pub(in crate::transform::reverse) fn atomic(
        &mut self,
        stmt: &Stmt,
        op: AtomicOp,
        place: &Place,
        value: &Expr,
        into: Option<&Place>,
    ) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        if !self.facts.is_active_place(place) {
            return pair;
        }
        if into.is_some_and(|into| self.facts.is_active_place(into)) {
            self.refuse_result(stmt);
            return pair;
        }
        match op {
            AtomicOp::Add | AtomicOp::Subtract => {
                let Some(shadow) = self.shadow(place) else { return pair };
                let seed = seed_in(shadow);
                let seed = if op == AtomicOp::Add { seed } else { Expr::unary(UnaryOp::Negate, seed) };
                if self.facts.is_active_value(value) {
                    self.adjoint(value, seed, &mut pair.reverse);
                }
            }
            AtomicOp::Exchange
            | AtomicOp::Min
            | AtomicOp::Max
            | AtomicOp::And
            | AtomicOp::Or
            | AtomicOp::Xor
            | AtomicOp::Increment
            | AtomicOp::Decrement
            | AtomicOp::CompareAndSwap => {
                let message = "an atomic on active memory that neither adds nor subtracts";
                self.report(
                    Diagnostic::new(THREADS_ACTIVE, stmt.span, message, "which thread's value stays is not known")
                        .help("use atomicAdd, or find the value by a reduction in shared memory and let one thread store it"),
                );
            }
        }
        pair
    }

    fn refuse_result(&mut self, stmt: &Stmt) {
        let message = "the result of an atomic on active memory is used for active values";
        self.report(
            Diagnostic::new(THREADS_ACTIVE, stmt.span, message, "it depends on the order in which threads come")
                .help("let another kernel read the sum, after this one"),
        );
    }
}
