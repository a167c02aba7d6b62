//! Exchanges within a warp: each thread gets back the adjoints of the threads that took its value.

use super::super::headers::keeps_bits;
use super::{Pair, Rules};
use crate::analysis::Uniform;
use crate::analysis::ordering::called;
use crate::diagnostic::{Diagnostic, THREADS_ACTIVE};
use crate::ir::walk;
use crate::ir::{
    BarrierKind, BinaryOp, Block, Builtin, CollectiveOp, Expr, ExprKind, For, FunctionId, Place, Stmt, StmtKind,
    Storage, Type,
};
use crate::rules::{self};
use crate::transform::locals::declare;

/// How many threads a warp has.
const WARP: i128 = 32;

/// A loop that adds up a variable by shuffles down.
struct ShuffledSum<'a> {
    variable: &'a Place,
    mask: &'a Expr,
    width: i128,
}

/// `for (int s = WIDTH / 2; s > 0; s /= 2) v += __shfl_down_sync(mask, v, s, WIDTH);`
fn shuffled_sum(head: &For) -> Option<ShuffledSum<'_>> {
    let from = if let ExprKind::Binary(BinaryOp::Divide, left, right) = &head.from.kind {
        let is_half = left.uncast().kind == ExprKind::Builtin(Builtin::WarpSize) && right.as_int() == Some(2);
        is_half.then_some(WARP / 2)?
    } else {
        head.from.as_int()?
    };
    let is_last =
        matches!((head.test, head.to.as_int()), (BinaryOp::Greater, Some(0)) | (BinaryOp::GreaterEqual, Some(1)));
    let is_halved =
        matches!((head.step, head.by.as_int()), (BinaryOp::Divide, Some(2)) | (BinaryOp::ShiftRight, Some(1)));
    let body: Vec<&Stmt> =
        head.body.iter().filter(|stmt| !matches!(stmt.kind, StmtKind::Declare { init: None, .. })).collect();
    let [exchange, sum] = body.as_slice() else { return None };
    let StmtKind::Collective { op: CollectiveOp::ShuffleDown, mask: Some(mask), args, into: Some(into) } =
        &exchange.kind
    else {
        return None;
    };
    let StmtKind::Assign { place, value } = &sum.kind else { return None };
    let ExprKind::Binary(BinaryOp::Add, left, right) = &value.kind else { return None };
    let (variable, taken) = (place.as_local()?, into.as_local()?);
    let width = match args.get(2) {
        Some(width) => width.as_int()?,
        None => WARP,
    };
    let is_whole = is_halved && is_last && keeps_bits(head) && from * 2 == width && (width & (width - 1)) == 0;
    let is_sum = left.as_local() == Some(variable) && right.as_local() == Some(taken)
        || left.as_local() == Some(taken) && right.as_local() == Some(variable);
    let is_of_itself = args.first().and_then(Expr::as_local) == Some(variable)
        && args.get(1).and_then(|by| by.uncast().as_local()) == Some(head.counter);
    let is_simple = matches!(mask.kind, ExprKind::Int(_) | ExprKind::Load(_)) && mask.as_local() != Some(head.counter);
    (is_whole && is_sum && is_of_itself && is_simple).then_some(ShuffledSum { variable: place, mask, width })
}

impl Rules<'_> {
    /// A shuffle, or another exchange of which only integers come.
    pub(in crate::transform::reverse) fn collective(
        &mut self,
        stmt: &Stmt,
        op: CollectiveOp,
        mask: Option<&Expr>,
        args: &[Expr],
        into: Option<&Place>,
    ) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let Some(into) = into.filter(|into| self.facts.is_active_place(into)) else {
            pair.reverse.extend(self.meeting(stmt, mask));
            return pair;
        };
        let Some(shadow) = self.shadow(into) else { return pair };
        let ty = into.ty.at_least_single();
        let (Type::Float(kind), Some(mask), Some(value)) = (&ty, mask, args.first()) else {
            self.refuse_exchange(stmt);
            return pair;
        };
        let seed = self.seed_of(into, &ty, &shadow, &mut pair.reverse);
        if !self.facts.is_active_value(value) {
            pair.reverse.extend(self.meeting(stmt, Some(mask)));
            return pair;
        }
        let argument = args.get(1).cloned().unwrap_or(Expr::int(0));
        let width = args.get(2).cloned().unwrap_or(Expr::int(32));
        let adjoint = self.vars.add("_r", ty.clone());
        let place = Place::local(adjoint, ty.clone());
        pair.reverse.push(declare(adjoint, None));
        let is_same = Uniform::new(self.facts.primal).is_same(&argument);
        if op == CollectiveOp::ShuffleXor && is_same && width.as_int() == Some(WARP) {
            // Two threads take each other's value.
            let kind = StmtKind::Collective {
                op,
                mask: Some(mask.clone()),
                args: [vec![seed], args[1..].to_vec()].concat(),
                into: Some(place.clone()),
            };
            pair.reverse.push(Stmt::new(kind).at(stmt.span));
        } else {
            let is_broadcast = op == CollectiveOp::Shuffle && argument.as_int().is_some();
            let helper =
                if is_broadcast { rules::broadcast_adjoint(*kind) } else { rules::shuffle_adjoint(op, is_same, *kind) };
            let Some(function) = helper.and_then(|(name, text)| self.derivatives.helper_of(&name, &text)) else {
                self.refuse_exchange(stmt);
                return pair;
            };
            let args = vec![mask.clone(), seed, argument, width];
            let call = StmtKind::Call { into: Some(place.clone()), function, args };
            pair.reverse.push(Stmt::new(call).at(stmt.span));
        }
        self.adjoint(value, Expr::load(place), &mut pair.reverse);
        pair
    }

    /// A loop that adds up a variable by shuffles down, all of it: in the reverse sweep one function does the whole.
    pub(in crate::transform::reverse) fn shuffled_sum(&mut self, stmt: &Stmt, head: &For) -> Option<Pair> {
        let sum = shuffled_sum(head)?;
        let place = sum.variable.clone();
        if !self.facts.is_active_place(&place) || !self.vars.is_private_variable(&place) {
            return None;
        }
        let shadow = self.shadow(&place)?;
        let Type::Float(kind) = &shadow.ty else { return None };
        let (name, text) = rules::sum_adjoint(*kind)?;
        let function = self.derivatives.helper_of(&name, &text)?;
        let args = vec![sum.mask.clone(), Expr::load(shadow.clone()), Expr::int(i64::try_from(sum.width).ok()?)];
        let call = StmtKind::Call { into: Some(shadow), function, args };
        Some(Pair { forward: vec![stmt.clone()], reverse: vec![Stmt::new(call).at(stmt.span)] })
    }

    /// Where an exchange has no adjoint, the threads of the warp still meet. Programs lean on that to hand each other what they
    /// wrote to shared memory, though CUDA does not promise it; the adjoints of that memory go the other way.
    fn meeting(&self, stmt: &Stmt, mask: Option<&Expr>) -> Option<Stmt> {
        let mask = mask.filter(|_| self.has_active_shared_memory())?;
        let kind = StmtKind::Barrier { kind: BarrierKind::Warp, argument: Some(mask.clone()), into: None };
        Some(Stmt::new(kind).at(stmt.span))
    }

    /// The same for a call of a function that exchanges nothing active.
    pub(in crate::transform::reverse) fn meeting_of_call(&self, stmt: &Stmt, callee: FunctionId) -> Option<Stmt> {
        let module = self.facts.module;
        let mut mask = None;
        for function in called(module, callee).into_iter().chain([callee]) {
            walk::each_stmt(&module.functions[function].body, &mut |stmt| {
                if let StmtKind::Collective { mask: Some(named), .. } = &stmt.kind
                    && named.as_int().is_some()
                {
                    mask = Some(named.clone());
                }
            });
        }
        self.meeting(stmt, mask.as_ref())
    }

    fn has_active_shared_memory(&self) -> bool {
        let locals = &self.facts.primal.locals;
        let mut shared = locals.ids().filter(|local| locals[*local].storage != Storage::Private);
        shared.any(|local| self.facts.has_shadow(local))
    }

    fn refuse_exchange(&mut self, stmt: &Stmt) {
        let message = "threads exchange active values here, in a way that has no adjoint";
        self.report(
            Diagnostic::new(THREADS_ACTIVE, stmt.span, message, "only shuffles of numbers have one")
                .help("exchange the values with `__shfl_sync` and its forms, or through shared memory"),
        );
    }
}
