//! Shared memory and barriers.
//!
//! The adjoint of a shared array is a shared array. All threads of the block clear it before the reverse sweep begins.
//! A barrier is its own reverse: what other threads read after it in the forward sweep, they have added to before it in
//! the reverse sweep.

use super::{Pair, Rules};
use crate::analysis::ordering::is_barrier;
use crate::ir::walk::{self};
use crate::ir::{BarrierKind, BinaryOp, Block, Expr, For, LocalId, Place, PlaceKind, Stmt, StmtKind, Storage, Type};
use crate::transform::accumulate::AdjointParam;
use crate::transform::elements::{barrier, element_count, nth_element, thread_count, thread_number, uint};
use crate::transform::locals::{assign, declare};
use crate::transform::shadow::{behind_dynamic, half_of_dynamic};

impl Rules<'_> {
    /// A barrier in both sweeps. What the counting ones count is a value like any other.
    pub(in crate::transform::reverse) fn barrier(
        &mut self,
        stmt: &Stmt,
        kind: BarrierKind,
        argument: Option<&Expr>,
    ) -> Pair {
        let (kind, argument) = if kind.is_of_block() { (BarrierKind::Block, None) } else { (kind, argument.cloned()) };
        let reverse = Stmt::new(StmtKind::Barrier { kind, argument, into: None }).at(stmt.span);
        Pair { forward: vec![stmt.clone()], reverse: kind.is_meeting().then_some(reverse).into_iter().collect() }
    }

    /// The adjoints of shared memory.
    pub(in crate::transform::reverse) fn shared_shadows(&self) -> Vec<AdjointParam> {
        let shared =
            self.facts.primal.locals.ids().filter(|local| self.facts.primal.locals[*local].storage != Storage::Private);
        shared
            .filter_map(|primal| match self.vars.shadows.local(primal)?.kind {
                PlaceKind::Local(adjoint) => {
                    Some(AdjointParam { adjoint, primal, is_shared: true, is_anywhere: false, is_contended: false })
                }
                PlaceKind::Global(_) | PlaceKind::Field(..) | PlaceKind::Index(..) | PlaceKind::Element(..) => None,
            })
            .collect()
    }

    /// The declarations of shared memory and of its adjoints, and what clears these. `sweeps` are what follows: if all
    /// threads meet in the forward sweep anyway, they need not meet here.
    pub(in crate::transform::reverse) fn shared_adjoints(&mut self, sweeps: [&mut Block; 2]) -> Block {
        let shadows = self.shared_shadows();
        let has_barrier = sweeps[0].iter().any(is_barrier);
        if shadows.is_empty() {
            return Block::new();
        }
        let mut out = Block::new();
        for block in sweeps {
            let is_own = |stmt: &Stmt| walk::declared_local(stmt).is_some_and(|local| self.vars.is_shared(local));
            let (declarations, rest): (Block, Block) = std::mem::take(block).into_iter().partition(is_own);
            out.extend(declarations);
            *block = rest;
        }
        for AdjointParam { adjoint, primal, .. } in &shadows {
            let is_dynamic = self.facts.primal.locals[*primal].storage == Storage::DynamicShared;
            if is_dynamic && !out.iter().any(|stmt| walk::declared_local(stmt) == Some(*primal)) {
                out.push(declare(*primal, None));
            }
            let (array, ty) = (&self.facts.primal.locals[*primal].ty, &self.vars.function.locals[*adjoint].ty);
            let init = is_dynamic.then(|| behind_dynamic(*primal, array, ty));
            out.push(declare(*adjoint, init));
        }
        let shadows: Vec<LocalId> = shadows.into_iter().map(|shadow| shadow.adjoint).collect();
        let thread = self.vars.add("_thread", Type::UINT);
        let threads = self.vars.add("_threads", Type::UINT);
        out.push(declare(thread, Some(thread_number())).noted("the adjoints of shared memory begin at zero"));
        let is_array =
            |shadow: &LocalId| matches!(self.vars.function.locals[*shadow].ty, Type::Array(..) | Type::Pointer(_));
        if shadows.iter().any(is_array) {
            out.push(declare(threads, Some(thread_count())));
        }
        for shadow in shadows {
            out.push(self.clear_together(shadow, thread, threads));
        }
        if !has_barrier {
            out.push(barrier());
        }
        out
    }

    /// The statement by which all threads of a block clear an adjoint in shared memory.
    fn clear_together(&mut self, shadow: LocalId, thread: LocalId, threads: LocalId) -> Stmt {
        let ty = self.vars.function.locals[shadow].ty.clone();
        let place = Place::local(shadow, ty.clone());
        let thread = Expr::load(Place::local(thread, Type::UINT));
        let mut body = Block::new();
        if !matches!(ty, Type::Array(..) | Type::Pointer(_)) {
            self.vars.clear(&place, &mut body);
            let cond = Expr::binary(BinaryOp::Equal, thread, uint(0));
            return Stmt::new(StmtKind::If { cond, then_block: body, else_block: Block::new() });
        }
        let counter = self.vars.add("_k", Type::UINT);
        let number = Expr::load(Place::local(counter, Type::UINT));
        let to = if let Type::Pointer(_) = ty {
            // Of dynamic shared memory nothing is known but its size.
            let words = Expr::cast(Expr::load(place), Type::pointer(Type::UINT));
            body.push(assign(Place::element(words, number), uint(0)));
            Expr::binary(BinaryOp::Divide, half_of_dynamic(), uint(4))
        } else {
            let count = element_count(&ty);
            self.vars.clear(&nth_element(place, number, count), &mut body);
            uint(count)
        };
        let by = Expr::load(Place::local(threads, Type::UINT));
        let (from, test, step) = (thread, BinaryOp::Less, BinaryOp::Add);
        Stmt::new(StmtKind::For(Box::new(For { counter, from, test, to, step, by, unroll: None, body })))
    }
}
