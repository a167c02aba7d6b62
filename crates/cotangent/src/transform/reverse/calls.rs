//! Calls that stay calls: the reverse sweep calls the function's pullback.

use std::collections::BTreeSet;

use super::super::locals::{declare, in_type};
use super::function::{Ctx, Pair};
use super::{Pattern, Sharing};
use crate::analysis::{self, Base, Object, carries_floats};
use crate::diagnostic::{Diagnostic, UNKNOWN_POINTER};
use crate::ir::{Block, Expr, ExprKind, FunctionId, Place, Stmt, StmtKind, Type};
use crate::source::Span;

impl Ctx<'_> {
    pub(super) fn call(&mut self, stmt: &Stmt, into: Option<&Place>, callee: FunctionId, args: &[Expr]) -> Pair {
        if let Some(rule) = self.module.rule(callee) {
            return self.ruled_call(stmt, into, (callee, rule.kind), args);
        }
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let Some(into) = into.filter(|into| self.is_active_place(into)) else { return pair };
        let Some(shadow) = self.shadow(into) else { return pair };
        let pattern: Vec<Sharing> = args.iter().map(|arg| self.sharing(arg)).collect();
        if pattern.iter().all(|sharing| *sharing == Sharing::Constant) {
            self.forget(into, &mut pair.reverse);
            return pair;
        }
        let out = &mut pair.reverse;
        let mut call_args = args.to_vec();
        let seed_type = self.shadows.widening.private(&into.ty);
        call_args.push(self.seed_of(into, &seed_type, &shadow, out));
        let mut after = Block::new();
        for (arg, sharing) in args.iter().zip(&pattern) {
            match sharing {
                Sharing::Constant => {}
                Sharing::Private | Sharing::Shared | Sharing::Anywhere if arg.ty.is_pointer() => {
                    let Some(pointer) = self.shadow_pointer(arg) else { return pair };
                    let ty = Type::pointer(pointer.ty.pointee().cloned().unwrap_or(Type::Void));
                    call_args.push(as_pointer(pointer, ty));
                }
                Sharing::Private | Sharing::Shared | Sharing::Anywhere => {
                    let ty = self.shadows.widening.private(&arg.ty);
                    call_args.push(self.argument_adjoint(arg, &ty, out, &mut after));
                }
            }
        }
        match self.pullbacks.request(self.module, callee, Pattern { sharing: pattern }) {
            Ok(function) => {
                out.push(Stmt::new(StmtKind::Call { into: None, function, args: call_args }).at(stmt.span));
                out.extend(after);
            }
            Err(diagnostics) => diagnostics.into_iter().for_each(|diagnostic| self.report(diagnostic)),
        }
        pair
    }

    /// The adjoint of what a call computes in the type that the pullback takes, and its end: an adjoint that the call
    /// adds to must not be the seed itself.
    pub(super) fn seed_of(&mut self, into: &Place, ty: &Type, shadow: &Place, out: &mut Block) -> Expr {
        if self.is_first_value(into) && matches!(into.ty, Type::Float(_)) {
            return self.as_type(shadow, ty);
        }
        let local = self.names.add(&mut self.function, "_r", ty.clone());
        out.push(declare(local, Some(self.as_type(shadow, ty))));
        self.clear(shadow, out);
        Expr::load(Place::local(local, ty.clone()))
    }

    /// What an adjoint holds, its numbers in the precision of a type of the same shape.
    fn as_type(&self, adjoint: &Place, ty: &Type) -> Expr {
        let (Type::Record(from), Type::Record(into)) = (&adjoint.ty, ty) else {
            return in_type(Expr::load(adjoint.clone()), ty);
        };
        if from == into {
            return Expr::load(adjoint.clone());
        }
        let fields = |record| (0u32..).zip(&self.module.records[record].fields);
        let parts = fields(*from).zip(fields(*into)).map(|((position, from), (_, into))| {
            self.as_type(&adjoint.clone().field(position, from.ty.clone()), &into.ty)
        });
        Expr::new(ExprKind::Construct(parts.collect()), ty.clone())
    }

    /// How the adjoint of an argument is reached by threads.
    pub(super) fn sharing(&mut self, arg: &Expr) -> Sharing {
        if !arg.ty.is_pointer() {
            let leads_on = analysis::uses_memory(self.module, &arg.ty)
                && self.objects.reachable(arg).iter().any(|object| self.activity.is_active(object));
            let is_active = carries_floats(self.module, &arg.ty) && self.is_active_value(arg);
            return match (is_active, leads_on) {
                (false, false) => Sharing::Constant,
                (true, false) => Sharing::Private,
                (_, true) => self.threads_of(&self.objects.reachable(arg)),
            };
        }
        let targets = self.objects.targets(arg);
        if !targets.iter().any(|object| self.activity.is_active(object)) {
            // What is behind the pointers that it points to would be lost.
            if self.objects.reachable(arg).iter().any(|object| self.activity.is_active(object)) {
                self.report(pointer_behind_argument(arg.span));
            }
            return Sharing::Constant;
        }
        let private = targets.iter().filter(|object| self.is_private(object)).count();
        if private == 0 { self.threads_of(&targets) } else { Sharing::Private }
    }

    /// How objects that are not the thread's own for certain are reached.
    fn threads_of(&self, objects: &BTreeSet<Object>) -> Sharing {
        let is_anywhere = |object: &Object| matches!(object.base, Base::Local(local) if self.anywhere.contains(&local));
        if objects.iter().any(is_anywhere) { Sharing::Anywhere } else { Sharing::Shared }
    }

    /// A pointer to where the pullback adds the adjoint of an argument that is passed by value.
    pub(super) fn argument_adjoint(&mut self, arg: &Expr, ty: &Type, out: &mut Block, after: &mut Block) -> Expr {
        if let ExprKind::Load(place) = &arg.kind
            && self.objects.of_place(place).iter().all(|object| self.is_private(object))
            && let Some(shadow) = self.shadow(place).filter(|shadow| shadow.ty == *ty)
        {
            return Expr::address_of(shadow);
        }
        let local = self.names.add(&mut self.function, "_d_arg", ty.clone());
        out.push(self.declare_zero(local));
        let adjoint = Place::local(local, ty.clone());
        self.adjoint_of_aggregate(arg, &adjoint, after);
        Expr::address_of(adjoint)
    }
}

fn pointer_behind_argument(span: Span) -> Diagnostic {
    let message = "a pointer to active values is passed by reference or by address";
    Diagnostic::new(UNKNOWN_POINTER, span, message, "no adjoint can be handed on for what is behind it")
        .help("pass the pointer itself, by value")
}

/// A pointer, whether it is one already or a variable that is a reference.
pub(super) fn as_pointer(pointer: Expr, ty: Type) -> Expr {
    match pointer.kind {
        ExprKind::Load(_) if pointer.ty.is_reference() => Expr::new(ExprKind::AddressOf(Place::deref(pointer)), ty),
        _ => Expr { ty, ..pointer },
    }
}
