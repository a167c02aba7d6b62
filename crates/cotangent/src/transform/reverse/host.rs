//! Host code: allocations, copies, fills, launches, and the order of streams.
//!
//! A shadow is allocated beside its memory. What is freed is freed by the reverse sweep, where it comes by the
//! allocation. A copy becomes an addition in the other direction, a launch the launch of the kernel's reverse sweep.

use std::collections::BTreeSet;

use super::super::launch::{self, Slots};
use super::super::locals::{assign, declare, without_spans};
use super::super::overlap::root;
use super::super::variables::SymbolCopy;
use super::Derived;
use super::aggregates::Scratch;
use super::beginnings::{Beginnings, beginnings};
use super::function::{Ctx, Pair};
use crate::analysis::{Base, Object, carries_floats, effects, uses_memory, variables_of};
use crate::diagnostic::{CONSTANT_MEMORY, Diagnostic, NO_DERIVATIVE, UNKNOWN_POINTER};
use crate::ir::walk;
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, GlobalId, Launch, LocalId, Module, Place, PointerType, Stmt, StmtKind, Type,
};
use crate::rules::{RuntimeClass, runtime_class};
use crate::source::Span;

/// Arguments of a launch, by position, that are arrays to be copied as a whole; and their sizes.
type Copied = Vec<(usize, Expr)>;

/// What ends a stream.
const STREAM_END: &str = "cudaStreamDestroy";

impl Ctx<'_> {
    /// A call of the CUDA runtime.
    pub(super) fn runtime(&mut self, stmt: &Stmt, call: &str, args: &[Expr], into: Option<&Place>) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let Some(class) = runtime_class(call) else { return pair };
        self.check_copied_pointers(class, args, stmt.span);
        let out = &mut pair.reverse;
        match (class, args) {
            (RuntimeClass::Memory { zeros, free }, _) => {
                let Some(into) = into else { return pair };
                self.memory(stmt, into, args, zeros, free, &mut pair);
            }
            (RuntimeClass::Free { always }, [pointer, ..]) => {
                if !always {
                    self.check_free(pointer, stmt.span);
                }
                pair.forward = went_well(into);
            }
            (RuntimeClass::Copy { bytes, kind: kind_at, stream }, [to, from, ..]) => {
                let (bytes, kind) = (args[bytes].clone(), args[kind_at].clone());
                let is_contended = self.is_contended(&self.objects.targets(from));
                let tail = [vec![bytes.clone(), kind], optional(args, stream)].concat();
                match self.copied(to, from, stmt.span) {
                    Some((to, Some(from))) => {
                        let call = if is_contended { "cotangent::add_copied_at_once" } else { "cotangent::add_copied" };
                        out.push(call_of(call, [vec![from, to], tail].concat()))
                    }
                    Some((to, None)) => {
                        out.extend(self.wait_of_copy(stream, &args[kind_at]));
                        let rest = [vec![to, bytes], optional(args, stream)].concat();
                        out.push(call_of("cotangent::clear", rest));
                    }
                    None => {
                        out.extend(self.wait_of_constant_copy(stream, &args[kind_at]));
                        return pair;
                    }
                }
                out.extend(self.wait_after(args, &args[kind_at], stream));
            }
            (RuntimeClass::CopyRows { stream }, [to, to_pitch, from, from_pitch, width, height, kind, ..]) => {
                let (to_pitch, from_pitch) = (to_pitch.clone(), from_pitch.clone());
                let is_contended = self.is_contended(&self.objects.targets(from));
                let rows = vec![width.clone(), height.clone()];
                match self.copied(to, from, stmt.span) {
                    Some((to, Some(from))) => {
                        let pointers = vec![from, from_pitch, to, to_pitch];
                        let rest = [pointers, rows, vec![kind.clone()], optional(args, stream)].concat();
                        let call = if is_contended {
                            "cotangent::add_copied_rows_at_once"
                        } else {
                            "cotangent::add_copied_rows"
                        };
                        out.push(call_of(call, rest));
                    }
                    Some((to, None)) => {
                        out.extend(self.wait_of_copy(stream, kind));
                        let rest = [vec![to, to_pitch], rows, optional(args, stream)].concat();
                        out.push(call_of("cotangent::clear_rows", rest));
                    }
                    None => {
                        out.extend(self.wait_of_constant_copy(stream, kind));
                        return pair;
                    }
                }
                out.extend(self.wait_after(args, kind, stream));
            }
            (RuntimeClass::Fill { stream }, [to, _, bytes, ..]) => {
                out.extend(self.filled("cotangent::clear", to, &[bytes], optional(args, stream), stmt.span));
            }
            (RuntimeClass::FillRows { stream }, [to, pitch, _, width, height, ..]) => {
                let rows = [pitch, width, height];
                out.extend(self.filled("cotangent::clear_rows", to, &rows, optional(args, stream), stmt.span));
            }
            (RuntimeClass::Symbol, [..]) => out.extend(self.copied_symbol(stmt, call, args)),
            (RuntimeClass::Create { destroy }, [target, ..]) => {
                if let Some(handle) = address_of(target).filter(|handle| self.is_destroyed(handle)) {
                    if destroy == STREAM_END {
                        // It does not wait for what is still to be done.
                        out.push(call_of("cudaStreamSynchronize", vec![Expr::load(handle.clone())]));
                    }
                    out.push(call_of(destroy, vec![Expr::load(handle)]));
                }
            }
            (RuntimeClass::Destroy, [handle, ..]) => {
                pair.forward = went_well(into);
                if !matches!(&handle.kind, ExprKind::Load(place) if self.is_created(place)) {
                    self.report_not_own(stmt.span, "ends a stream or an event that it did not make");
                }
            }
            // What came after the wait, in whichever stream, now comes first, and must be done.
            (RuntimeClass::Synchronize, _) => out.push(call_of("cudaDeviceSynchronize", Vec::new())),
            // The other stream waits now, and this one is waited for.
            (RuntimeClass::Record, [event, rest @ ..]) => {
                let stream = rest.first().cloned().unwrap_or_else(null_stream);
                let flags = Expr::new(ExprKind::Int(0), Type::UINT);
                out.push(call_of("cudaStreamWaitEvent", vec![stream, event.clone(), flags]));
            }
            (RuntimeClass::WaitFor, [stream, event, ..]) => {
                // Several streams may wait for one event. Each then records it, and must not hide that others did.
                let flags = Expr::new(ExprKind::Int(0), Type::UINT);
                out.push(call_of("cudaStreamWaitEvent", vec![stream.clone(), event.clone(), flags]));
                out.push(call_of("cudaEventRecord", vec![event.clone(), stream.clone()]));
            }
            (RuntimeClass::Allocate { .. }, _) => {
                let message = "where the pointer to new memory goes is not known";
                self.report(
                    Diagnostic::new(UNKNOWN_POINTER, stmt.span, message, "no adjoint can be found for it")
                        .help("allocate into a variable: `cudaMalloc(&p, bytes)`"),
                );
            }
            (RuntimeClass::Own, _) => self.check_own_call(call, args, stmt.span),
            (RuntimeClass::Query, _) => {}
            // With fewer arguments than they take, which Clang does not let pass.
            (
                RuntimeClass::Free { .. }
                | RuntimeClass::Copy { .. }
                | RuntimeClass::CopyRows { .. }
                | RuntimeClass::Fill { .. }
                | RuntimeClass::FillRows { .. }
                | RuntimeClass::Create { .. }
                | RuntimeClass::Destroy
                | RuntimeClass::Record
                | RuntimeClass::WaitFor,
                _,
            ) => {}
        }
        pair
    }

    /// The reverse of a fill: what was there before does not matter any more.
    fn filled(&mut self, call: &str, to: &Expr, sizes: &[&Expr], stream: Vec<Expr>, span: Span) -> Block {
        let Some(shadow) = self.shadow_of_memory(to, span) else { return Block::new() };
        let sizes = sizes.iter().copied().cloned();
        let mut out = vec![call_of(call, [shadow].into_iter().chain(sizes).chain(stream.clone()).collect())];
        if self.is_touched_by_host(&self.objects.targets(to)) {
            out.push(wait_for(stream.into_iter().next()));
        }
        out
    }

    /// A copy of pointers: what is reached through the copy is not known to be what the pointers lead to.
    fn check_copied_pointers(&mut self, class: RuntimeClass, args: &[Expr], span: Span) {
        let Some((to, from)) = class.ends_of_copy() else { return };
        let leads_on = |end: usize| args.get(end).is_some_and(|arg| points_to_pointers(self.module, arg));
        let reached = args.get(from).map(|from| self.objects.reachable(uncast(from))).unwrap_or_default();
        if (leads_on(to) || leads_on(from)) && reached.iter().any(|object| self.activity.is_touched(object)) {
            let message = "pointers to active values are copied here";
            self.report(
                Diagnostic::new(UNKNOWN_POINTER, span, message, "no adjoint can be found behind the copies")
                    .help("hand the pointers to the kernel as arguments, or in a record by value"),
            );
        }
    }

    /// What only derivatives call: their own derivatives are not known.
    fn check_own_call(&mut self, call: &str, args: &[Expr], span: Span) {
        let is_touched =
            |arg: &Expr| self.objects.reachable(uncast(arg)).iter().any(|object| self.activity.is_touched(object));
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
        let own = self.objects.targets(&Expr::load(into.clone()));
        let is_freed = self.freed().iter().any(|object| own.contains(object));
        if own.iter().any(|object| self.activity.is_active(object))
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

    /// Everything that is freed somewhere in the function.
    fn freed(&self) -> BTreeSet<Object> {
        let mut found = BTreeSet::new();
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            if let StmtKind::Runtime { call, args, .. } = &stmt.kind
                && matches!(runtime_class(call), Some(RuntimeClass::Free { .. }))
            {
                args.iter().take(1).for_each(|pointer| found.extend(self.objects.targets(pointer)));
            }
        });
        found
    }

    /// What is freed must be freed on every way to the end of the block that allocates it: there the reverse sweep frees
    /// it.
    fn check_free(&mut self, pointer: &Expr, span: Span) {
        let freed = self.objects.targets(pointer);
        let is_meant = |pointer: &Expr| self.objects.targets(pointer).iter().any(|object| freed.contains(object));
        let is_allocation = |stmt: &Stmt| match &stmt.kind {
            StmtKind::Runtime { call, into: Some(into), .. } => {
                matches!(runtime_class(call), Some(RuntimeClass::Memory { .. })) && is_meant(&Expr::load(into.clone()))
            }
            _ => false,
        };
        let is_together = blocks(&self.primal.body)
            .iter()
            .any(|block| block.iter().any(is_allocation) && always_frees(block, &is_meant));
        if !is_together {
            self.report_not_own(span, "frees memory that was not allocated in the same block");
        }
    }

    fn report_not_own(&mut self, span: Span, what: &str) {
        let message = format!("`{}` {what}", self.primal.name);
        self.report(
            Diagnostic::new(NO_DERIVATIVE, span, message, "the reverse sweep still needs it")
                .help("leave that to the caller, or do both in one block of the function"),
        );
    }

    fn is_destroyed(&self, handle: &Place) -> bool {
        self.has_call(
            RuntimeClass::Destroy,
            &|arg| matches!(&arg.kind, ExprKind::Load(place) if place.kind == handle.kind),
        )
    }

    pub(super) fn is_created(&self, handle: &Place) -> bool {
        let makes = |arg: &Expr| address_of(arg).is_some_and(|place| place.kind == handle.kind);
        self.has_call(RuntimeClass::Create { destroy: STREAM_END }, &makes)
            || self.has_call(RuntimeClass::Create { destroy: "cudaEventDestroy" }, &makes)
    }

    /// Whether some call of a class has a first argument of that kind.
    fn has_call(&self, class: RuntimeClass, is_meant: &dyn Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        walk::each_stmt(&self.primal.body, &mut |stmt| {
            if let StmtKind::Runtime { call, args, .. } = &stmt.kind {
                found |= runtime_class(call) == Some(class) && args.first().is_some_and(is_meant);
            }
        });
        found
    }

    /// The reverse of a copy to or from a variable outside functions: if that is named, it has adjoints as arrays have.
    fn copied_symbol(&mut self, stmt: &Stmt, call: &str, args: &[Expr]) -> Block {
        let Some(copy) = SymbolCopy::new(call, args) else { return Block::new() };
        let stream_at = copy.stream.map(|_| 5);
        let mut targets = self.objects.targets(copy.to);
        targets.extend(self.objects.targets(copy.from));
        if !targets.iter().any(|object| self.activity.is_active(object)) {
            return self.wait_of_constant_copy(stream_at, &copy.kind).into_iter().collect();
        }
        let unnamed = targets.iter().find_map(|object| match object.base {
            Base::Global(global) => Some(&self.module.globals[global].name),
            Base::Local(_) | Base::Unknown => None,
        });
        if let Some(name) = unnamed {
            let message = format!("`{call}` moves active values to or from `{name}`, which is not named");
            let refused = Diagnostic::new(CONSTANT_MEMORY, stmt.span, message, "no adjoint is handed in for it");
            self.report(refused.help(format!("name `{name}` too")));
            return Block::new();
        }
        let Some((to, from)) = self.copied(copy.to, copy.from, stmt.span) else {
            return self.wait_of_constant_copy(stream_at, &copy.kind).into_iter().collect();
        };
        let stream = copy.stream.into_iter().cloned().collect();
        match copy.at_offset(to, from) {
            (to, Some(from)) => {
                let rest = vec![from, to, copy.bytes.clone(), copy.kind.clone()];
                let is_contended = self.is_contended(&targets);
                let call = if is_contended { "cotangent::add_copied_at_once" } else { "cotangent::add_copied" };
                vec![call_of(call, [rest, stream].concat())]
            }
            (to, None) => {
                let clear = call_of("cotangent::clear", [vec![to, copy.bytes.clone()], stream].concat());
                self.wait_of_constant_copy(stream_at, &copy.kind).into_iter().chain([clear]).collect()
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
        if !self.objects.targets(pointer).iter().any(|object| self.activity.is_active(object)) {
            return None;
        }
        let number = pointer.ty.pointee().and_then(|pointee| self.number_in(pointee));
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

    /// The floating type that all scalars of a type have.
    fn number_in(&self, ty: &Type) -> Option<Type> {
        match ty {
            Type::Float(_) => Some(ty.clone()),
            Type::Array(element, _) => self.number_in(element),
            Type::Record(record) => {
                let mut numbers = self.module.records[*record].fields.iter().map(|field| self.number_in(&field.ty));
                let first = numbers.next()??;
                numbers.all(|other| other.as_ref() == Some(&first)).then_some(first)
            }
            Type::Void | Type::Bool | Type::Int(_) | Type::Pointer(_) | Type::Opaque(_) => None,
        }
    }

    /// A launch: the forward sweep runs the kernel, with a record if its reverse sweep needs one.
    pub(super) fn launch(&mut self, stmt: &Stmt, launch: &Launch, later: &BTreeSet<Object>) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let kernel = &self.module.functions[launch.kernel];
        let params = kernel.params.clone();
        let active: Vec<usize> =
            (0..params.len()).filter(|position| self.is_active_argument(&launch.args[*position])).collect();
        if active.is_empty() {
            return pair;
        }
        let apart = self.check_overlap(stmt, launch);
        self.check_variables(stmt, launch);
        let wrt: Vec<LocalId> = active.iter().map(|position| params[*position]).collect();
        let (derived, copied) = match self.split_of_launch(launch, &params, &wrt, later) {
            Ok(found) => found,
            Err(found) => {
                found.into_iter().for_each(|found| self.report(found));
                return pair;
            }
        };
        let record = self.launch_forward(stmt, launch, &derived, &mut pair.forward);
        pair.forward.splice(0..0, apart);
        let stream = launch.stream.clone().unwrap_or_else(null_stream);
        let mut args = launch.args.clone();
        let mut snapshots = Vec::new();
        for (position, bytes) in copied {
            let snapshot = self.snapshot(&launch.args[position], bytes, &stream, &mut pair.forward);
            args[position] = self.restored(&launch.args[position], &snapshot, &stream, &mut pair.reverse);
            snapshots.push(snapshot);
        }
        let (out, mut after) = (&mut pair.reverse, Block::new());
        for position in active {
            let arg = &launch.args[position];
            if arg.ty.is_pointer() {
                let Some(shadow) = self.shadow_pointer(arg) else { return pair };
                let pointee = shadow.ty.pointee().cloned().unwrap_or(Type::Void);
                args.push(super::calls::as_pointer(shadow, Type::pointer(pointee)));
                continue;
            }
            let mut scratch = Scratch { stream: &stream, before: out, after: &mut after };
            let Some(initial) = self.shadow_record(arg, stmt.span, &mut scratch) else { return pair };
            args.push(self.adjoint_on_device(arg, initial, &stream, out, &mut after));
        }
        args.extend(record.iter().map(|record| Expr::load(record.clone())));
        let kernel = &self.pullbacks.output.functions[derived.function];
        let shared = launch::shared_bytes(kernel, launch.shared.clone());
        let reverse = Launch { kernel: derived.function, is_checked: true, shared, args, ..launch.clone() };
        out.push(Stmt::new(StmtKind::Launch(Box::new(reverse))).at(stmt.span));
        out.push(call_of("cotangent::check_launch", Vec::new()));
        let reached: BTreeSet<Object> = launch.args.iter().flat_map(|arg| self.objects.reachable(arg)).collect();
        if self.is_touched_by_host(&reached) {
            out.push(wait_for(launch.stream.clone()));
        }
        out.extend(after);
        let release = record.into_iter().map(|record| ("cotangent::release", record));
        let kept = release.chain(snapshots.into_iter().map(|snapshot| ("cotangent::drop_snapshot", snapshot)));
        out.extend(kept.map(|(call, kept)| call_of(call, vec![Expr::load(kept), stream.clone()])));
        pair
    }

    fn is_contended(&self, objects: &BTreeSet<Object>) -> bool {
        objects.iter().any(|object| self.contended.contains(object))
    }

    fn is_active_argument(&self, arg: &Expr) -> bool {
        if arg.ty.is_pointer() || uses_memory(self.module, &arg.ty) {
            return self.objects.reachable(arg).iter().any(|object| self.activity.is_active(object));
        }
        carries_floats(self.module, &arg.ty) && self.is_active_value(arg)
    }

    /// The kernel's two sweeps. Memory that its reverse sweep reads and that changes until then is copied as a whole if
    /// its size is known, else what is read of it is recorded. Returns the positions of what is copied, and the sizes.
    fn split_of_launch(
        &mut self,
        launch: &Launch,
        params: &[LocalId],
        wrt: &[LocalId],
        later: &BTreeSet<Object>,
    ) -> Result<(Derived, Copied), Vec<Diagnostic>> {
        let is_contended = |arg: &Expr| self.is_contended(&self.objects.reachable(arg));
        let positions = params.iter().zip(&launch.args).filter(|(param, arg)| wrt.contains(param) && is_contended(arg));
        let contended: Vec<LocalId> = positions.map(|(param, _)| *param).collect();
        let derived = self.pullbacks.request_split(self.module, launch.kernel, [wrt, &[], &contended], &[])?;
        let variables = self.changed_variables(&derived, later);
        let changes = |position: &&usize| {
            let reached = self.objects.reachable(&launch.args[**position]);
            reached
                .iter()
                .any(|object| later.iter().any(|other| other.overlaps(object)) || self.is_unstable_memory(object))
        };
        let (mut saved, mut copied) = (Vec::new(), Vec::new());
        for position in derived.needed.iter().filter(changes) {
            match self.known_bytes(&launch.args[*position]) {
                Some(bytes) => copied.push((*position, bytes)),
                None => saved.push(params[*position]),
            }
        }
        if saved.is_empty() && variables.is_empty() {
            return Ok((derived, copied));
        }
        let params = [wrt, &saved, &contended];
        let derived = self.pullbacks.request_split(self.module, launch.kernel, params, &variables)?;
        Ok((derived, copied))
    }

    /// What the reverse sweep of a kernel reads outside functions and what changes until then.
    fn changed_variables(&self, derived: &Derived, later: &BTreeSet<Object>) -> Vec<Object> {
        let mentioned = variables_of(&self.pullbacks.output, derived.function);
        let changed = later.iter().chain(self.frames.iter().flat_map(|frame| &frame.unstable));
        let mut found = BTreeSet::new();
        for object in changed {
            match object.base {
                Base::Global(global) if mentioned.contains(&global) => drop(found.insert(object.clone())),
                Base::Unknown => {
                    let base = |global: &GlobalId| Object { base: Base::Global(*global), path: Vec::new() };
                    found.extend(mentioned.iter().map(base));
                }
                Base::Global(_) | Base::Local(_) => {}
            }
        }
        found.into_iter().collect()
    }

    /// Replaces the launch by one that records, if there is something to record.
    fn launch_forward(
        &mut self,
        stmt: &Stmt,
        launch: &Launch,
        derived: &Derived,
        forward: &mut Block,
    ) -> Option<Place> {
        let (augmented, slots, bytes) = (derived.augmented?, derived.slots?, derived.bytes?);
        let params = self.pullbacks.output.functions[augmented].params.clone();
        let record_param = params.get(launch.args.len())?;
        let record_type = self.pullbacks.output.functions[augmented].locals[*record_param].ty.clone();
        let stream = launch.stream.clone().unwrap_or_else(null_stream);
        forward.clear();
        let dim3 = launch::dim3(&mut self.pullbacks.output);
        let extents = |extents: &[Expr; 3]| Expr::new(ExprKind::Construct(extents.to_vec()), dim3.clone());
        let shared = launch.shared.clone().unwrap_or_else(|| Expr::new(ExprKind::Int(0), Type::SIZE));
        let mut size_args = vec![extents(&launch.grid), extents(&launch.block), shared, stream.clone()];
        size_args.extend(launch.args.iter().cloned());
        let local = self.names.add(&mut self.function, "_bytes", Type::SIZE);
        let size = Place::local(local, Type::SIZE);
        let count = StmtKind::Call { into: Some(size.clone()), function: bytes, args: size_args };
        forward.extend([declare(local, None), Stmt::new(count).at(stmt.span)]);
        let memory = ("cotangent::stream_memory", vec![Expr::load(size), stream.clone()]);
        let record = self.result_of(memory, "_record", record_type, forward);
        let mut args = launch.args.clone();
        args.push(Expr::load(record.clone()));
        let mut told = Block::new();
        if let Slots::Stated(given) = slots {
            let size = Expr::new(ExprKind::SizeOf(Type::UINT), Type::SIZE);
            let zeros = ("cotangent::stream_zeros", vec![size, stream.clone()]);
            let needed = self.result_of(zeros, "_needed", Type::pointer(Type::UINT), forward);
            args.push(Expr::load(needed.clone()));
            let most = self.fetched("_most", needed, &stream, &mut told);
            let given = Expr::new(ExprKind::Int(i128::from(given)), Type::UINT);
            told.push(call_of("cotangent::require_slots", vec![Expr::load(most), given]));
        }
        let recording = Launch { kernel: augmented, is_checked: true, args, ..launch.clone() };
        forward.push(Stmt::new(StmtKind::Launch(Box::new(recording))).at(stmt.span));
        forward.extend(told);
        Some(record)
    }

    /// Device memory for the adjoint of an argument that is passed by value, as it is before the launch: zeros, or a
    /// record with pointers. Afterwards the numbers in it are brought back.
    fn adjoint_on_device(
        &mut self,
        arg: &Expr,
        initial: Option<Expr>,
        stream: &Expr,
        out: &mut Block,
        after: &mut Block,
    ) -> Expr {
        let pointer = Type::pointer(arg.ty.clone());
        let Some(initial) = initial else {
            let size = Expr::new(ExprKind::SizeOf(arg.ty.clone()), Type::SIZE);
            let zeros = ("cotangent::stream_zeros", vec![size, stream.clone()]);
            let on_device = self.result_of(zeros, "_d_arg", pointer, out);
            let sum = self.fetched("_d_sum", on_device.clone(), stream, after);
            self.adjoint_of_aggregate(arg, &sum, after);
            return Expr::load(on_device);
        };
        let local = self.names.add(&mut self.function, "_d_value", arg.ty.clone());
        out.push(declare(local, Some(initial)));
        let value = Place::local(local, arg.ty.clone());
        let copy = ("cotangent::uploaded", vec![Expr::address_of(value.clone()), stream.clone()]);
        let on_device = self.result_of(copy, "_d_arg", pointer, out);
        if self.is_active_value(arg) {
            after.push(fetch(&value, &on_device, stream));
            self.adjoint_of_aggregate(arg, &value, after);
        }
        after.push(call_of("cotangent::release", vec![Expr::load(on_device.clone()), stream.clone()]));
        Expr::load(on_device)
    }

    /// A new variable with what a function of the runtime returns.
    pub(super) fn result_of(
        &mut self,
        (call, args): (&str, Vec<Expr>),
        name: &str,
        ty: Type,
        out: &mut Block,
    ) -> Place {
        let local = self.names.add(&mut self.function, name, ty.clone());
        let place = Place::local(local, ty);
        out.push(declare(local, None));
        out.push(Stmt::new(StmtKind::Runtime { call: call.into(), args, into: Some(place.clone()) }));
        place
    }

    /// A new variable with the one value that device memory holds, which is given back.
    fn fetched(&mut self, name: &str, on_device: Place, stream: &Expr, out: &mut Block) -> Place {
        let ty = on_device.ty.pointee().cloned().unwrap_or(Type::Void);
        let local = self.names.add(&mut self.function, name, ty.clone());
        let value = Place::local(local, ty);
        out.push(declare(local, None));
        out.push(fetch(&value, &on_device, stream));
        out.push(call_of("cotangent::release", vec![Expr::load(on_device), stream.clone()]));
        value
    }

    /// The derivative of a kernel takes its arrays to be apart. Arguments that are parts of one array were merged before
    /// (`overlap`); what may be the same array or another one is looked at before the launch, by where the arrays begin.
    fn check_overlap(&mut self, stmt: &Stmt, launch: &Launch) -> Block {
        let mut checks = Block::new();
        let written = effects(self.module, launch.kernel).params;
        let known = beginnings(self.module, self.primal, &self.address_taken);
        let mut before: Vec<(usize, Expr, BTreeSet<Object>)> = Vec::new();
        for (position, arg) in launch.args.iter().enumerate() {
            for pointer in self.pointers_in(arg).unwrap_or_else(|| vec![arg.clone()]) {
                let reached = self.objects.reachable(&pointer);
                for (other, other_pointer, other_reached) in &before {
                    let meets = reached.iter().any(|mine| other_reached.iter().any(|object| mine.overlaps(object)));
                    let is_active = reached.union(other_reached).any(|object| self.activity.is_active(object));
                    let is_written = written.contains(&position) || written.contains(other);
                    if !meets || !(is_active || is_written) {
                        continue;
                    }
                    match told_apart(&known, [other_pointer, &pointer]) {
                        Some(roots) => {
                            let args = roots.map(|pointer| Expr::cast(pointer, const_void()));
                            checks.push(call_of("cotangent::require_apart", args.to_vec()));
                        }
                        None => {
                            let found = same_array(self.module, launch, [*other, position], stmt.span);
                            if !self.diagnostics.contains(&found) {
                                self.diagnostics.push(found);
                            }
                        }
                    }
                }
                before.push((position, pointer, reached));
            }
        }
        checks
    }

    /// Values that a kernel leaves in variables outside functions would be lost for other kernels.
    fn check_variables(&mut self, stmt: &Stmt, launch: &Launch) {
        let written = effects(self.module, launch.kernel).others;
        for object in written {
            let Base::Global(global) = object.base else { continue };
            let variable = &self.module.globals[global];
            if carries_floats(self.module, &variable.ty) {
                let message = format!("the kernel may leave active values in `{}`, which is not named", variable.name);
                self.report(
                    Diagnostic::new(CONSTANT_MEMORY, stmt.span, message, "no adjoint is handed in for it")
                        .help(format!("name `{}` too", variable.name)),
                );
            }
        }
    }
}

/// Where the arrays begin that two pointers are into, if that tells whether they are one array.
fn told_apart(known: &Beginnings, pointers: [&Expr; 2]) -> Option<[Expr; 2]> {
    let [left, right] = pointers.map(|pointer| root(pointer).clone());
    let is_told = known.has(&left) && known.has(&right) && without_spans(&left) != without_spans(&right);
    is_told.then_some([left, right])
}

fn same_array(module: &Module, launch: &Launch, positions: [usize; 2], span: Span) -> Diagnostic {
    let kernel = &module.functions[launch.kernel];
    let [first, second] = positions.map(|position| kernel.local_name(kernel.params[position]).to_owned());
    let message = match first == second {
        true => format!("two pointers in `{first}` may be into the same array"),
        false => format!("`{first}` and `{second}` may be into the same array"),
    };
    Diagnostic::new(NO_DERIVATIVE, span, message, "the kernel's derivative takes them to be apart")
        .help("pass different arrays, or offsets of one pointer: `k<<<…>>>(u, u + n)`")
}

pub(super) fn const_void() -> Type {
    let void = PointerType {
        pointee: Type::Void,
        is_const: true,
        is_restrict: false,
        is_volatile: false,
        is_reference: false,
    };
    Type::Pointer(Box::new(void))
}

/// The pointer that an argument is, whatever it promises.
pub(super) fn uncast(pointer: &Expr) -> &Expr {
    match &pointer.kind {
        ExprKind::Cast(operand) if operand.ty.is_pointer() => uncast(operand),
        _ => pointer,
    }
}

/// What is left in the forward sweep of a call that comes later: its result.
fn went_well(into: Option<&Place>) -> Block {
    let success = |into: &Place| assign(into.clone(), Expr::cast(Expr::int(0), into.ty.clone()));
    into.map(success).into_iter().collect()
}

pub(super) fn call_of(call: &str, args: Vec<Expr>) -> Stmt {
    Stmt::new(StmtKind::Runtime { call: call.into(), args, into: None })
}

/// The host waits for a stream.
pub(super) fn wait_for(stream: Option<Expr>) -> Stmt {
    call_of("cudaStreamSynchronize", vec![stream.unwrap_or_else(null_stream)])
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

/// Brings a value from device memory to a variable.
fn fetch(value: &Place, on_device: &Place, stream: &Expr) -> Stmt {
    let args = vec![Expr::address_of(value.clone()), Expr::load(on_device.clone()), stream.clone()];
    call_of("cotangent::fetch", args)
}

fn optional(args: &[Expr], position: Option<usize>) -> Vec<Expr> {
    position.and_then(|position| args.get(position)).into_iter().cloned().collect()
}

fn null_stream() -> Expr {
    Expr::new(ExprKind::Null, Type::pointer(Type::Opaque("CUstream_st".into())))
}

fn address_of(expr: &Expr) -> Option<Place> {
    match &expr.kind {
        ExprKind::AddressOf(place) => Some(place.clone()),
        _ => None,
    }
}

/// A pointer before it was made a `void*`.
fn typed(pointer: &Expr) -> &Expr {
    match &pointer.kind {
        ExprKind::Cast(operand) if pointer.ty.pointee() == Some(&Type::Void) && operand.ty.is_pointer() => {
            typed(operand)
        }
        _ => pointer,
    }
}

/// Whether every way through a block frees what is meant.
fn always_frees(block: &Block, is_meant: &dyn Fn(&Expr) -> bool) -> bool {
    block.iter().any(|stmt| match &stmt.kind {
        StmtKind::Runtime { call, args, .. } => {
            matches!(runtime_class(call), Some(RuntimeClass::Free { .. })) && args.first().is_some_and(is_meant)
        }
        StmtKind::If { then_block, else_block, .. } => {
            always_frees(then_block, is_meant) && always_frees(else_block, is_meant)
        }
        _ => false,
    })
}

/// The block and all blocks inside.
fn blocks(block: &Block) -> Vec<&Block> {
    let mut found = vec![block];
    for stmt in block {
        let _ = walk::stmt_parts(stmt, &mut |part| {
            if let walk::Part::Block(inner) = part {
                found.extend(blocks(inner));
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
    }
    found
}
