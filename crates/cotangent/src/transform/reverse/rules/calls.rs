//! Calls that stay calls: the reverse sweep calls the function's pullback.

use std::collections::BTreeSet;

use super::super::decision::How;
use super::super::derivatives::{Adders, Pattern};
use super::super::variables::as_pointer;
use super::expr::unless_zero;
use super::{Pair, Rules};
use crate::analysis::ordering::called;
use crate::analysis::{self, Base, Object, carries_floats};
use crate::diagnostic::{Diagnostic, UNKNOWN_POINTER};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, FunctionId, Place, Stmt, StmtKind, Type};
use crate::source::Span;
use crate::transform::Fact;

/// So many slopes of one call are kept; each is a register until the reverse sweep.
const MAX_SLOPES: usize = 8;

fn pointer_behind_argument(span: Span) -> Diagnostic {
    let message = "a pointer to active values is passed by reference or by address";
    Diagnostic::new(UNKNOWN_POINTER, span, message, "no adjoint can be handed on for what is behind it")
        .help("pass the pointer itself, by value")
}

impl Rules<'_> {
    pub(in crate::transform::reverse) fn call(
        &mut self,
        stmt: &Stmt,
        into: Option<&Place>,
        callee: FunctionId,
        args: &[Expr],
    ) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let Some(into) = into.filter(|into| self.facts.is_active_place(into)) else {
            pair.reverse.extend(self.meeting_of_call(stmt, callee));
            return pair;
        };
        let Some(shadow) = self.shadow(into) else { return pair };
        let pattern: Vec<Adders> = args.iter().map(|arg| self.adders(arg)).collect();
        if pattern.iter().all(|adders| *adders == Adders::Constant) {
            self.forget(into, &mut pair.reverse);
            pair.reverse.extend(self.meeting_of_call(stmt, callee));
            return pair;
        }
        let seed_type = self.vars.shadows.widening.private(&into.ty);
        if self.has_slopes(&seed_type, into, callee, args, &pattern) {
            return self.call_with_slopes(stmt, into, &shadow, callee, (args, pattern));
        }
        let out = &mut pair.reverse;
        let mut call_args = args.to_vec();
        call_args.push(self.seed_of(into, &seed_type, &shadow, out));
        let mut after = Block::new();
        for (arg, adders) in args.iter().zip(&pattern) {
            match adders {
                Adders::Constant => {}
                Adders::Private | Adders::Shared | Adders::Anywhere if arg.ty.is_pointer() => {
                    let Some(pointer) = self.shadow_pointer(arg) else { return pair };
                    let ty = Type::pointer(pointer.ty.pointee().cloned().unwrap_or(Type::Void));
                    call_args.push(as_pointer(pointer, ty));
                }
                Adders::Private | Adders::Shared | Adders::Anywhere => {
                    let ty = self.vars.shadows.widening.private(&arg.ty);
                    call_args.push(self.argument_adjoint(arg, &ty, out, &mut after));
                }
            }
        }
        match self.derivatives.pullback(self.facts.module, callee, Pattern { adders: pattern }) {
            Ok(function) => {
                out.push(Stmt::new(StmtKind::Call { into: None, function, args: call_args }).at(stmt.span));
                out.extend(after);
            }
            Err(diagnostics) => diagnostics.into_iter().for_each(|diagnostic| self.report(diagnostic)),
        }
        pair
    }

    /// Whether the derivative of a call is computed with its value: the reverse sweep runs in the same frame, so that the slopes
    /// are still there, and all that the derivative consists of is one number for each of a few arguments.
    fn has_slopes(
        &self,
        seed_type: &Type,
        into: &Place,
        callee: FunctionId,
        args: &[Expr],
        pattern: &[Adders],
    ) -> bool {
        let module = self.facts.module;
        let mut active = args.iter().zip(pattern).filter(|(_, adders)| **adders != Adders::Constant);
        // A slope of half precision would overflow where its product with the seed does not.
        let is_number = matches!(into.ty, Type::Float(_)) && into.ty.at_least_single() == into.ty;
        // The user's derivative of something inside need not be linear in its seed.
        let is_ruled = || {
            let mut reached = called(module, callee).into_iter().chain([callee]);
            !module.rules.is_empty() && reached.any(|function| module.rule(function).is_some())
        };
        is_number
            && *seed_type == into.ty
            && !self.frames.is_in_loop()
            && self.facts.trust.doubted != Some(Fact::Standing)
            && pattern.iter().filter(|adders| **adders != Adders::Constant).count() <= MAX_SLOPES
            && active.all(|(arg, adders)| arg.ty == into.ty && *adders == Adders::Private)
            && !is_ruled()
    }

    /// A call whose slopes are computed with its value. The reverse sweep multiplies them with the seed.
    fn call_with_slopes(
        &mut self,
        stmt: &Stmt,
        into: &Place,
        shadow: &Place,
        callee: FunctionId,
        (args, adders): (&[Expr], Vec<Adders>),
    ) -> Pair {
        let mut pair = Pair::default();
        let seed = self.seed_of(into, &into.ty, shadow, &mut pair.reverse);
        let mut call_args = args.to_vec();
        for arg in args.iter().zip(&adders).filter(|(_, adders)| **adders != Adders::Constant).map(|(arg, _)| arg) {
            let slope = self.vars.add_saved("_slope", into.ty.clone());
            pair.forward.push(self.vars.declare_zero(slope));
            let slope = Place::local(slope, into.ty.clone());
            call_args.push(Expr::address_of(slope.clone()));
            let share = Expr::binary(BinaryOp::Multiply, seed.clone(), Expr::load(slope));
            self.adjoint(arg, unless_zero(&seed, share), &mut pair.reverse);
        }
        self.decide(stmt.span, "its slopes", How::WithValue);
        match self.derivatives.with_slopes(self.facts.module, callee, Pattern { adders }) {
            Ok(function) => {
                let kind = StmtKind::Call { into: Some(into.clone()), function, args: call_args };
                pair.forward.push(Stmt { kind, ..stmt.clone() });
            }
            Err(diagnostics) => diagnostics.into_iter().for_each(|diagnostic| self.report(diagnostic)),
        }
        pair
    }

    /// How the adjoint of an argument is reached by threads.
    pub(in crate::transform::reverse) fn adders(&mut self, arg: &Expr) -> Adders {
        if !arg.ty.is_pointer() {
            let leads_on = analysis::uses_memory(self.facts.module, &arg.ty)
                && self.facts.objects.reachable(arg).iter().any(|object| self.facts.activity.is_active(object));
            let is_active = carries_floats(self.facts.module, &arg.ty) && self.facts.is_active_value(arg);
            return match (is_active, leads_on) {
                (false, false) => Adders::Constant,
                (true, false) => Adders::Private,
                (_, true) => self.threads_of(&self.facts.objects.reachable(arg)),
            };
        }
        let targets = self.facts.objects.targets(arg);
        if !targets.iter().any(|object| self.facts.activity.is_active(object)) {
            // What is behind the pointers that it points to would be lost.
            if self.facts.objects.reachable(arg).iter().any(|object| self.facts.activity.is_active(object)) {
                self.report(pointer_behind_argument(arg.span));
            }
            return Adders::Constant;
        }
        let is_own = |object: &&Object| self.is_private(object) || self.is_of_caller(object);
        let private = targets.iter().filter(is_own).count();
        if private == 0 { self.threads_of(&targets) } else { Adders::Private }
    }

    /// How objects that are not the thread's own for certain are reached.
    fn threads_of(&self, objects: &BTreeSet<Object>) -> Adders {
        let is_anywhere =
            |object: &Object| matches!(object.base, Base::Local(local) if self.threads.anywhere.contains(&local));
        if objects.iter().any(is_anywhere) { Adders::Anywhere } else { Adders::Shared }
    }

    /// A pointer to where the pullback adds the adjoint of an argument that is passed by value.
    pub(in crate::transform::reverse) fn argument_adjoint(
        &mut self,
        arg: &Expr,
        ty: &Type,
        out: &mut Block,
        after: &mut Block,
    ) -> Expr {
        if let ExprKind::Load(place) = &arg.kind
            && self.facts.objects.of_place(place).iter().all(|object| self.is_private(object))
            && let Some(shadow) = self.shadow(place).filter(|shadow| shadow.ty == *ty)
        {
            return Expr::address_of(shadow);
        }
        let local = self.vars.add("_d_arg", ty.clone());
        out.push(self.vars.declare_zero(local));
        let adjoint = Place::local(local, ty.clone());
        self.adjoint_of_aggregate(arg, &adjoint, after);
        Expr::address_of(adjoint)
    }
}
