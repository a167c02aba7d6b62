//! Calls of the CUDA runtime: allocations, copies, fills, and the order of streams.
//!
//! A shadow is allocated beside its memory. What is freed is freed by the reverse sweep, where it comes by the
//! allocation. A copy becomes an addition in the other direction.

use super::{Pair, Rules};
use crate::analysis::{Base, Object, uses_memory};
use crate::diagnostic::{CONSTANT_MEMORY, Diagnostic, NO_DERIVATIVE, UNKNOWN_POINTER};
use crate::ir::{BinaryOp, Block, Expr, ExprKind, Module, Place, Stmt, StmtKind, Type};
use crate::rules::{CHECKPOINT, Move, RuntimeClass, SET_EVENT, STREAM_WAITS, Symbol, WAIT_FOR_DEVICE, runtime_class};
use crate::source::Span;
use crate::transform::locals::assign;
use crate::transform::runtime_calls::{call_like, call_of, null_stream, optional, pointer_of, typed, wait_for};
use crate::transform::variables::SymbolCopy;

/// What is left in the forward sweep of a call that comes later: its result.
fn went_well(into: Option<&Place>) -> Block {
    let success = |into: &Place| assign(into.clone(), Expr::cast(Expr::int(0), into.ty.clone()));
    into.map(success).into_iter().collect()
}

/// Whether what a pointer points to holds pointers, by any type that it has had.
fn points_to_pointers(module: &Module, pointer: &Expr) -> bool {
    let is_here = pointer.ty.pointee().is_some_and(|pointee| uses_memory(module, pointee));
    let is_before = match &pointer.kind {
        ExprKind::Cast(operand) if operand.ty.is_pointer() => points_to_pointers(module, operand),
        ExprKind::Binary(BinaryOp::Offset, base, _) => points_to_pointers(module, base),
        ExprKind::Cast(_)
        | ExprKind::Binary(..)
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Select(..)
        | ExprKind::Null
        | ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Unary(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => false,
    };
    is_here || is_before
}

impl Rules<'_> {
    /// A call of the CUDA runtime.
    pub(in crate::transform::reverse) fn runtime(
        &mut self,
        stmt: &Stmt,
        call: &str,
        args: &[Expr],
        into: Option<&Place>,
    ) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let Some(class) = runtime_class(call) else { return pair };
        self.check_copied_pointers(class, args, stmt.span);
        let out = &mut pair.reverse;
        match (class, args) {
            (RuntimeClass::Memory { zeros, free }, _) => {
                let Some(into) = into else { return pair };
                self.memory(stmt, into, args, zeros, free, &mut pair);
            }
            (RuntimeClass::Free { later }, [pointer, ..]) => {
                pair.forward = went_well(into);
                pair.forward.extend(later.map(|later| self.freed(later, pointer, stmt.span)).unwrap_or_default());
            }
            (RuntimeClass::Move(moved), _) => out.extend(self.moved(moved, args, stmt.span)),
            (RuntimeClass::Symbol(symbol), _) => out.extend(self.copied_symbol(symbol, stmt, call, args)),
            (RuntimeClass::Create { wait, destroy }, [target, ..]) => {
                if let Some(handle) = target.as_address().filter(|handle| self.facts.is_destroyed(handle)) {
                    let calls = wait.into_iter().chain([destroy]);
                    out.extend(calls.map(|call| call_of(call, vec![Expr::load(handle.clone())])));
                }
            }
            (RuntimeClass::Destroy, [handle, ..]) => {
                pair.forward = went_well(into);
                if !matches!(&handle.kind, ExprKind::Load(place) if self.facts.is_created(place)) {
                    self.report_not_own(stmt.span, "ends a stream or an event that it did not make");
                }
            }
            // What came after the wait, in whichever stream, now comes first, and must be done.
            (RuntimeClass::Synchronize, _) => {
                out.extend(self.facts.waits_for_streams().then(|| call_of(WAIT_FOR_DEVICE, Vec::new())));
            }
            // The other stream waits now, and this one is waited for.
            (RuntimeClass::Record, [event, rest @ ..]) => {
                let stream = rest.first().cloned().unwrap_or_else(null_stream);
                let flags = Expr::new(ExprKind::Int(0), Type::UINT);
                out.push(call_of(STREAM_WAITS, vec![stream, event.clone(), flags]));
            }
            (RuntimeClass::WaitFor, [stream, event, ..]) => {
                // Several streams may wait for one event. Each then records it, and must not hide that others did.
                let flags = Expr::new(ExprKind::Int(0), Type::UINT);
                out.push(call_of(STREAM_WAITS, vec![stream.clone(), event.clone(), flags]));
                out.push(call_of(SET_EVENT, vec![event.clone(), stream.clone()]));
            }
            (RuntimeClass::Allocate { .. }, _) => {
                let message = "where the pointer to new memory goes is not known";
                self.report(
                    Diagnostic::new(UNKNOWN_POINTER, stmt.span, message, "no adjoint can be found for it")
                        .help("allocate into a variable: `cudaMalloc(&p, bytes)`"),
                );
            }
            (RuntimeClass::Own, _) => self.check_own_call(call, args, stmt.span),
            // The plan has read it.
            (RuntimeClass::Query, _) if call == CHECKPOINT => pair.forward.clear(),
            (RuntimeClass::Query, _) => {}
            // With fewer arguments than they take, which Clang does not let pass.
            (
                RuntimeClass::Free { .. }
                | RuntimeClass::Create { .. }
                | RuntimeClass::Destroy
                | RuntimeClass::Record
                | RuntimeClass::WaitFor,
                _,
            ) => {}
        }
        pair
    }

    /// The reverse of a copy or a fill.
    fn moved(&mut self, moved: Move, args: &[Expr], span: Span) -> Block {
        let Move { to, from, clear, stream } = moved;
        let Some(target) = args.get(to).map(pointer_of) else { return Block::new() };
        let cleared = |to: Expr| call_like(clear, clear.name, [Some(&to), None], args, stream);
        let Some(source) = from else {
            // What was there before does not matter any more.
            let Some(shadow) = self.shadow_of_memory(&target, span) else { return Block::new() };
            let is_next = self.facts.is_touched_by_host(&self.facts.objects.targets(&target));
            let wait = is_next.then(|| wait_for(optional(args, stream).into_iter().next()));
            return [cleared(shadow)].into_iter().chain(wait).collect();
        };
        let (Some(origin), Some(kind)) = (args.get(source.from), args.get(source.kind)) else { return Block::new() };
        let mut out = Block::new();
        match self.copied(&target, origin, span) {
            Some((to, Some(from))) => {
                let is_contended = self.is_contended(&self.facts.objects.targets(origin));
                let name = if is_contended { source.add_at_once } else { source.add.name };
                out.push(call_like(source.add, name, [Some(&to), Some(&from)], args, stream).at(span));
            }
            Some((to, None)) => {
                out.extend(self.facts.wait_of_copy(stream, kind));
                out.push(cleared(to));
            }
            None => return self.facts.wait_of_constant_copy(stream, kind).into_iter().collect(),
        }
        out.extend(self.facts.wait_after(args, kind, stream));
        out
    }

    /// A copy of pointers: what is reached through the copy is not known to be what the pointers lead to.
    fn check_copied_pointers(&mut self, class: RuntimeClass, args: &[Expr], span: Span) {
        let Some((to, from)) = class.ends_of_copy() else { return };
        let leads_on = |end: usize| args.get(end).is_some_and(|arg| points_to_pointers(self.facts.module, arg));
        let reached =
            args.get(from).map(|from| self.facts.objects.reachable(from.uncast_pointer())).unwrap_or_default();
        if (leads_on(to) || leads_on(from)) && reached.iter().any(|object| self.facts.activity.is_touched(object)) {
            let message = "pointers to active values are copied here";
            self.report(
                Diagnostic::new(UNKNOWN_POINTER, span, message, "no adjoint can be found behind the copies")
                    .help("hand the pointers to the kernel as arguments, or in a record by value"),
            );
        }
    }

    /// What only derivatives call: their own derivatives are not known.
    fn check_own_call(&mut self, call: &str, args: &[Expr], span: Span) {
        let is_touched = |arg: &Expr| {
            self.facts
                .objects
                .reachable(arg.uncast_pointer())
                .iter()
                .any(|object| self.facts.activity.is_touched(object))
        };
        if args.iter().any(is_touched) {
            let message = format!("`{call}` is called for active values, and is a part of derivatives itself");
            self.report(
                Diagnostic::new(NO_DERIVATIVE, span, message, "derivatives of host functions have no derivatives yet")
                    .help("differentiate the kernels twice, and write the second host function by hand"),
            );
        }
    }

    /// New memory, and its shadow.
    fn memory(&mut self, stmt: &Stmt, into: &Place, args: &[Expr], zeros: &str, free: &str, pair: &mut Pair) {
        let own = self.facts.objects.targets(&Expr::load(into.clone()));
        let is_freed = !self.facts.freed_here().is_disjoint(&own);
        if own.iter().any(|object| self.facts.activity.is_active(object))
            && let Some(shadow) = self.shadow(into)
        {
            let kind = StmtKind::Runtime { call: zeros.into(), args: args.to_vec(), into: Some(shadow.clone()) };
            pair.forward.push(Stmt::new(kind).at(stmt.span));
            if is_freed {
                pair.reverse.push(call_of(free, vec![Expr::load(shadow)]));
            }
        }
        if is_freed {
            pair.reverse.push(call_of(free, vec![Expr::load(into.clone())]));
        }
    }

    /// What the forward sweep does in place of a free: the reverse sweep may need the memory. It frees it where it comes to
    /// the allocation, or the derivative does when it ends. Adjoints that the caller asked for are the caller's.
    fn freed(&mut self, later: &str, pointer: &Expr, span: Span) -> Block {
        let targets = self.facts.objects.targets(pointer);
        if targets.is_subset(&self.facts.freed_here()) {
            return Block::new();
        }
        // Memory that is allocated for a parameter cannot be told from what the caller brought, and counts as that.
        let mut own = self.facts.allocated_objects();
        own.retain(|object| !matches!(object.base, Base::Local(local) if self.facts.primal.params.contains(&local)));
        let is_own = targets.is_subset(&own);
        if !is_own && (!targets.is_disjoint(&own) || targets.contains(&Object::unknown())) {
            self.report_not_own(span, "frees memory that it may have been given, or not");
            return Block::new();
        }
        let is_active = is_own && targets.iter().any(|object| self.facts.activity.is_active(object));
        let shadow = is_active.then(|| self.shadow_of_memory(pointer, span)).flatten();
        [pointer.uncast_pointer().clone()]
            .into_iter()
            .chain(shadow)
            .map(|memory| call_of(later, vec![memory]))
            .collect()
    }

    fn report_not_own(&mut self, span: Span, what: &str) {
        let message = format!("`{}` {what}", self.facts.primal.name);
        self.report(
            Diagnostic::new(NO_DERIVATIVE, span, message, "the reverse sweep still needs it")
                .help("leave that to the caller, or do both in one block of the function"),
        );
    }

    /// The reverse of a copy to or from a variable outside functions: if that is named, it has adjoints as arrays have.
    fn copied_symbol(&mut self, symbol: Symbol, stmt: &Stmt, call: &str, args: &[Expr]) -> Block {
        let Some(copy) = SymbolCopy::new(symbol, args) else { return Block::new() };
        let Symbol { source, clear, .. } = symbol;
        let mut targets = self.facts.objects.targets(copy.to());
        targets.extend(self.facts.objects.targets(copy.from()));
        if !targets.iter().any(|object| self.facts.activity.is_active(object)) {
            return self.facts.wait_of_constant_copy(copy.stream, copy.kind()).into_iter().collect();
        }
        let unnamed = targets.iter().find_map(|object| match object.base {
            Base::Global(global) => Some(&self.facts.module.globals[global].name),
            Base::Local(_) | Base::Unread | Base::Unknown => None,
        });
        if let Some(name) = unnamed {
            let message = format!("`{call}` moves active values to or from `{name}`, which is not named");
            let refused = Diagnostic::new(CONSTANT_MEMORY, stmt.span, message, "no adjoint is handed in for it");
            self.report(refused.help(format!("name `{name}` too")));
            return Block::new();
        }
        let Some((to, from)) = self.copied(copy.to(), copy.from(), stmt.span) else {
            return self.facts.wait_of_constant_copy(copy.stream, copy.kind()).into_iter().collect();
        };
        match copy.at_offset(to, from) {
            (to, Some(from)) => {
                let name = if self.is_contended(&targets) { source.add_at_once } else { source.add.name };
                vec![call_like(source.add, name, [Some(&to), Some(&from)], &copy.args, copy.stream).at(stmt.span)]
            }
            (to, None) => {
                let clear = call_like(clear, clear.name, [Some(&to), None], &copy.args, copy.stream);
                self.facts.wait_of_constant_copy(copy.stream, copy.kind()).into_iter().chain([clear]).collect()
            }
        }
    }

    /// The adjoints of a copy's target and source; none if the target is constant.
    fn copied(&mut self, to: &Expr, from: &Expr, span: Span) -> Option<(Expr, Option<Expr>)> {
        let target = self.shadow_of_memory(to, span)?;
        let source = self.shadow_of_memory(from, span);
        Some((target, source))
    }

    /// A pointer to the adjoints of what a `void*` points to, if that is active, as a pointer to numbers.
    fn shadow_of_memory(&mut self, pointer: &Expr, span: Span) -> Option<Expr> {
        let pointer = typed(pointer);
        if !self.facts.objects.targets(pointer).iter().any(|object| self.facts.activity.is_active(object)) {
            return None;
        }
        let number = pointer.ty.pointee().and_then(|pointee| self.facts.number_in(pointee));
        let Some(number) = number else {
            let message = "the type of the active values that are copied here is not known";
            self.report(
                Diagnostic::new(UNKNOWN_POINTER, span, message, "not a pointer to numbers of one type")
                    .help("copy arrays of float or double, or of records that hold nothing else"),
            );
            return None;
        };
        let shadow = self.shadow_pointer(pointer)?;
        Some(Expr::cast(shadow, Type::pointer(number)))
    }
}
