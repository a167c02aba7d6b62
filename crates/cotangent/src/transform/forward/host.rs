//! Host code: tangents are allocated, copied and freed as values are, and a launch is one of the kernel's pushforward.

use super::super::launch::{is_waited_for, shared_bytes};
use super::super::runtime_calls::{
    PASSED_HELP, UNREAD_HELP, UNREAD_IS_ACTIVE, call_like, call_of, const_void, handed_variable, pointer_of,
};
use super::super::variables::SymbolCopy;
use super::{Pushforward, parameter_type};
use crate::analysis::may_be_brought;
use crate::ir::{Block, Expr, Launch, OpaqueArg, Place, PlaceKind, Stmt, StmtKind, Type};
use crate::rules::{RuntimeClass, Symbol, WAIT_FOR_DEVICE, runtime_class};
use crate::source::Span;

impl Pushforward<'_, '_> {
    pub(super) fn launch(&mut self, launch: &Launch, stmt: &Stmt, out: &mut Block) {
        let primal = self.ctx.primal;
        let pattern = self.activity.pattern(primal, launch.kernel, &launch.args, None);
        if !pattern.iter().flatten().any(|level| level.has_tangent()) {
            return out.push(stmt.clone());
        }
        let mut args = launch.args.clone();
        let kernel = &primal.functions[launch.kernel];
        for ((param, arg), levels) in kernel.params.iter().zip(&launch.args).zip(&pattern) {
            if levels.iter().any(|level| level.has_tangent()) {
                let ty = parameter_type(&kernel.locals[*param].ty);
                args.push(self.tangent_or_zero(arg, &ty));
            }
        }
        let kernel = self.ctx.callee(launch.kernel, &pattern);
        let shared = shared_bytes(&self.ctx.module.functions[kernel], launch.shared.clone());
        let kind = StmtKind::Launch(Box::new(Launch { kernel, is_checked: true, shared, args, ..launch.clone() }));
        out.push(Stmt { kind, ..stmt.clone() });
    }

    pub(super) fn runtime(&mut self, call: &str, args: &[Expr], into: Option<&Place>, stmt: &Stmt, out: &mut Block) {
        let Some(class) = runtime_class(call) else { return out.push(stmt.clone()) };
        let same = |args: Vec<Expr>| Stmt::new(StmtKind::Runtime { call: call.into(), args, into: None }).at(stmt.span);
        let mut waits = false;
        let tangent = match (class, args) {
            (RuntimeClass::Memory { zeros, .. }, _) => {
                // What is freed with a tangent is allocated with one.
                let is_freed = |into: &&Place| {
                    into.ty.pointee() == Some(&Type::Void)
                        || self.tangent_of_memory(&Expr::load((*into).clone())).is_some()
                };
                let shadow = into.filter(is_freed).and_then(|into| self.shadows.place(into));
                shadow.map(|shadow| {
                    let kind = StmtKind::Runtime { call: zeros.into(), args: args.to_vec(), into: Some(shadow) };
                    Stmt::new(kind).at(stmt.span)
                })
            }
            (RuntimeClass::Free { .. }, [pointer, rest @ ..]) => {
                // The tangents of what the caller brought are the caller's.
                let is_brought = may_be_brought(self.ctx.primal, self.function, pointer);
                let shadow = self.tangent_of_memory(pointer).filter(|_| !is_brought);
                shadow.map(|shadow| same([vec![shadow], rest.to_vec()].concat()))
            }
            (RuntimeClass::Move(moved), _) => {
                let source =
                    moved.from.and_then(|source| Some((source, args.get(source.from)?, args.get(source.kind)?)));
                let to = args.get(moved.to).and_then(|to| self.tangent_of_memory(&pointer_of(to)));
                let from = source.and_then(|(source, from, _)| Some((source, self.tangent_of_memory(from)?)));
                match (to, from) {
                    (Some(to), Some((source, from))) => {
                        let mut args = args.to_vec();
                        (args[moved.to], args[source.from]) = (to, from);
                        Some(same(args))
                    }
                    (Some(to), None) => {
                        // Streams that do not wait for the default one would else find the tangents of before.
                        waits = source.is_some_and(|(_, _, kind)| is_waited_for(moved.stream, kind));
                        let to = without_void(to);
                        Some(call_like(moved.clear, moved.clear.name, [Some(&to), None], args, moved.stream))
                    }
                    (None, _) => None,
                }
            }
            (RuntimeClass::Symbol(symbol), _) => self.copied_symbol(symbol, call, args, stmt),
            (RuntimeClass::Own, _) => {
                if args.iter().any(|arg| self.activity.points_to_active(self.ctx.primal, arg.uncast_pointer())) {
                    let message = format!("`{call}` is called for active values, and is a part of derivatives itself");
                    let help = "differentiate the kernels twice, and write the second host function by hand";
                    self.refuse(stmt.span, message, help);
                }
                None
            }
            // They touch no values, or have fewer arguments than they take, which Clang does not let pass.
            (
                RuntimeClass::Allocate { .. }
                | RuntimeClass::Free { .. }
                | RuntimeClass::Create { .. }
                | RuntimeClass::Destroy
                | RuntimeClass::Synchronize
                | RuntimeClass::Record
                | RuntimeClass::WaitFor
                | RuntimeClass::Query,
                _,
            ) => None,
        };
        out.push(stmt.clone());
        out.extend(tangent);
        if waits {
            out.push(call_of(WAIT_FOR_DEVICE, Vec::new()));
        }
    }

    /// The tangent of a copy to or from a variable outside functions: if that is named, it has tangents as arrays have.
    fn copied_symbol(&mut self, symbol: Symbol, call: &str, args: &[Expr], stmt: &Stmt) -> Option<Stmt> {
        let copy = SymbolCopy::new(symbol, args)?;
        let from = self.tangent_of_memory(copy.from());
        let Some(to) = self.tangent_of_memory(copy.to()) else {
            if from.is_some() {
                let help = "name what it goes to too";
                self.refuse(stmt.span, format!("`{call}` moves active values to what is not named"), help);
            }
            return None;
        };
        let (to, Some(from)) = copy.at_offset(to.clone(), from) else {
            let to = without_void(copy.at_offset(to, None).0);
            return Some(call_like(symbol.clear, symbol.clear.name, [Some(&to), None], &copy.args, copy.stream));
        };
        let (to, from) = (Expr::cast(to, Type::pointer(Type::Void)), Expr::cast(from, const_void()));
        let name = if copy.stream.is_some() { symbol.copy_async } else { symbol.copy.name };
        Some(call_like(symbol.copy, name, [Some(&to), Some(&from)], &copy.args, copy.stream).at(stmt.span))
    }

    /// Code that is passed through has no tangent: nothing active must be handed to it, or lie where it may look.
    pub(super) fn check_passed(&mut self, args: &[OpaqueArg], span: Span) {
        let mut found = Vec::new();
        for value in args.iter().filter_map(OpaqueArg::value) {
            let Some(local) = value.as_local() else {
                if self.activity.points_to_active(self.ctx.primal, &value) {
                    let name = handed_variable(&value).map_or("this", |local| &self.function.locals[local].name);
                    found.push(format!("is handed `{name}`"));
                }
                continue;
            };
            let variable = &self.function.locals[local];
            let is_handle = matches!(variable.ty.pointee(), Some(Type::Opaque(_)));
            let is_handed_in = is_handle && self.activity.leads_to_constant(local);
            if is_handed_in || self.activity.has_shadow(self.ctx.primal, local, &variable.ty) {
                found.push(format!("is handed `{}`", variable.name));
            }
        }
        for (id, global) in self.ctx.primal.globals.entries() {
            let value = Expr::load(Place::new(PlaceKind::Global(id), global.ty.clone()));
            if global.is_open() && self.activity.points_to_active(self.ctx.primal, &value) {
                found.push(format!("may use `{}`", global.name));
            }
        }
        if self.activity.unread_is_active() {
            self.refuse(span, UNREAD_IS_ACTIVE.to_owned(), UNREAD_HELP);
        }
        for what in found {
            self.refuse(span, format!("code that is not read {what}, which leads to active values"), PASSED_HELP);
        }
    }

    /// A pointer to the tangents of what a `void*` points to, if that is active.
    fn tangent_of_memory(&mut self, pointer: &Expr) -> Option<Expr> {
        // What a `void*`, or a reference to a whole array, was made from.
        let typed = pointer.uncast_pointer();
        if !self.activity.points_to_active(self.ctx.primal, typed) {
            return None;
        }
        let tangent = self.tangent(typed)?;
        Some(if typed == pointer { tangent } else { Expr::cast(tangent, pointer.ty.clone()) })
    }
}

/// A pointer before it was made a `void*`.
fn without_void(pointer: Expr) -> Expr {
    let is_void = pointer.ty.pointee() == Some(&Type::Void);
    pointer.as_cast().filter(|_| is_void).cloned().unwrap_or(pointer)
}
