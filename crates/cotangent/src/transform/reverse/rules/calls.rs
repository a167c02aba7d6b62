//! Calls that stay calls: the reverse sweep calls the function's pullback.

use std::collections::BTreeSet;

use super::super::derivatives::{Adders, Pattern};
use super::super::variables::as_pointer;
use super::{Pair, Rules};
use crate::analysis::{self, Base, Object, carries_floats};
use crate::diagnostic::{Diagnostic, UNKNOWN_POINTER};
use crate::ir::{Block, Expr, ExprKind, FunctionId, Place, Stmt, StmtKind, Type};
use crate::source::Span;

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
        let out = &mut pair.reverse;
        let mut call_args = args.to_vec();
        let seed_type = self.vars.shadows.widening.private(&into.ty);
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
