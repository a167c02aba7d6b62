//! Launches: the reverse of a launch is the launch of the kernel's reverse sweep.

use std::collections::BTreeSet;

use super::super::derivatives::Derived;
use super::super::facts::allocations::variable;
use super::super::facts::beginnings::{Beginnings, points};
use super::super::variables::as_pointer;
use super::aggregates::Scratch;
use super::{Pair, Rules};
use crate::analysis::{Base, Object, carries_floats, effects};
use crate::diagnostic::{CONSTANT_MEMORY, Diagnostic, NO_DERIVATIVE};
use crate::ir::same::same_expr;
use crate::ir::{Block, Expr, ExprKind, Launch, Module, Place, Stmt, StmtKind, Type};
use crate::rules::SNAPSHOT;
use crate::source::Span;
use crate::transform::launch::{self, Slots as LaunchSlots};
use crate::transform::locals::declare;
use crate::transform::overlap::root;
use crate::transform::runtime_calls::{call_of, const_void, fetch, null_stream, wait_for};

/// Arguments of a launch, by position, that are arrays to be copied as a whole; and their sizes.
pub(in crate::transform::reverse) type Copied = Vec<(usize, Expr)>;

/// Where the arrays begin that two pointers are into, if that tells whether they are one array.
fn told_apart(known: &Beginnings, pointers: [&Expr; 2]) -> Option<[Expr; 2]> {
    let [left, right] = pointers.map(|pointer| root(pointer).clone());
    let is_told = known.is_beginning(&left) && known.is_beginning(&right) && !same_expr(&left, &right);
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

impl Rules<'_> {
    /// The arguments of a launch, by position, that carry derivatives.
    pub(in crate::transform::reverse) fn active_arguments(&self, launch: &Launch) -> Vec<usize> {
        (0..launch.args.len()).filter(|position| self.facts.is_active_argument(&launch.args[*position])).collect()
    }

    /// What the derivative of a launch takes for granted: reported if it does not hold, else made sure of before the launch.
    pub(in crate::transform::reverse) fn granted(&mut self, stmt: &Stmt, launch: &Launch) -> Block {
        let checks = self.check_overlap(stmt, launch);
        self.check_variables(stmt, launch);
        checks
    }

    /// A launch: the forward sweep runs the kernel, with a record if its reverse sweep needs one.
    pub(in crate::transform::reverse) fn launch(
        &mut self,
        stmt: &Stmt,
        launch: &Launch,
        derived: &Derived,
        copied: Copied,
    ) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let record = self.launch_forward(stmt, launch, derived, &mut pair.forward);
        let stream = launch.stream.clone().unwrap_or_else(null_stream);
        let mut args = launch.args.clone();
        let mut snapshots = Vec::new();
        for (position, bytes) in copied {
            let snapshot = self.snapshot(&launch.args[position], bytes, &stream, &mut pair.forward);
            args[position] = self.restored(&launch.args[position], &snapshot, &stream, &mut pair.reverse);
            snapshots.push(snapshot);
        }
        let (out, mut after) = (&mut pair.reverse, Block::new());
        for position in self.active_arguments(launch) {
            let arg = &launch.args[position];
            if arg.ty.is_pointer() {
                let Some(shadow) = self.shadow_pointer(arg) else { return pair };
                let pointee = shadow.ty.pointee().cloned().unwrap_or(Type::Void);
                args.push(as_pointer(shadow, Type::pointer(pointee)));
                continue;
            }
            let mut scratch = Scratch { stream: &stream, before: out, after: &mut after };
            let Some(initial) = self.shadow_record(arg, stmt.span, &mut scratch) else { return pair };
            args.push(self.adjoint_on_device(arg, initial, &stream, out, &mut after));
        }
        args.extend(record.iter().map(|record| Expr::load(record.clone())));
        out.push(Stmt::new(self.launch_of_reverse(launch, derived, args)).at(stmt.span));
        out.push(call_of("cotangent::check_launch", Vec::new()));
        let reached: BTreeSet<Object> = launch.args.iter().flat_map(|arg| self.facts.objects.reachable(arg)).collect();
        if self.facts.is_touched_by_host(&reached) {
            out.push(wait_for(launch.stream.clone()));
        }
        out.extend(after);
        let release = record.into_iter().map(|record| ("cotangent::release", record));
        let kept = release.chain(snapshots.into_iter().map(|snapshot| ("cotangent::drop_snapshot", snapshot)));
        out.extend(kept.map(|(call, kept)| call_of(call, vec![Expr::load(kept), stream.clone()])));
        pair
    }

    /// The launch of the reverse sweep, or the call of what chooses between kernels.
    fn launch_of_reverse(&mut self, launch: &Launch, derived: &Derived, args: Vec<Expr>) -> StmtKind {
        let Some(gathered) = &derived.gathered else {
            let kernel = &self.derivatives.written().functions[derived.function];
            let shared = launch::shared_bytes(kernel, launch.shared.clone());
            let reverse = Launch { kernel: derived.function, is_checked: true, shared, args, ..launch.clone() };
            return StmtKind::Launch(Box::new(reverse));
        };
        let mut all = self.configuration(launch);
        all.extend(args);
        StmtKind::Call { into: None, function: gathered.launcher, args: all }
    }

    /// The sizes, the shared memory and the stream of a launch, as arguments.
    fn configuration(&mut self, launch: &Launch) -> Vec<Expr> {
        let dim3 = launch::dim3(self.derivatives.written_mut());
        let extents = |extents: &[Expr; 3]| Expr::new(ExprKind::Construct(extents.to_vec()), dim3.clone());
        let shared = launch.shared.clone().unwrap_or_else(|| Expr::new(ExprKind::Int(0), Type::SIZE));
        let stream = launch.stream.clone().unwrap_or_else(null_stream);
        vec![extents(&launch.grid), extents(&launch.block), shared, stream]
    }

    /// Replaces the launch by one that records, if there is something to record.
    fn launch_forward(
        &mut self,
        stmt: &Stmt,
        launch: &Launch,
        derived: &Derived,
        forward: &mut Block,
    ) -> Option<Place> {
        let (augmented, slots, bytes) = (derived.augmented?, derived.slots.as_ref()?, derived.bytes?);
        let params = self.derivatives.written().functions[augmented].params.clone();
        let record_param = params.get(launch.args.len())?;
        let record_type = self.derivatives.written().functions[augmented].locals[*record_param].ty.clone();
        let stream = launch.stream.clone().unwrap_or_else(null_stream);
        forward.clear();
        let mut size_args = self.configuration(launch);
        size_args.extend(launch.args.iter().cloned());
        let local = self.vars.add("_bytes", Type::SIZE);
        let size = Place::local(local, Type::SIZE);
        let count = StmtKind::Call { into: Some(size.clone()), function: bytes, args: size_args };
        forward.extend([declare(local, None), Stmt::new(count).at(stmt.span)]);
        let memory = ("cotangent::stream_memory", vec![Expr::load(size), stream.clone()]);
        let record = self.vars.result_of(memory, "_record", record_type, forward);
        let mut args = launch.args.clone();
        args.push(Expr::load(record.clone()));
        let mut told = Block::new();
        if let LaunchSlots::Stated(given) = *slots {
            let size = Expr::new(ExprKind::SizeOf(Type::UINT), Type::SIZE);
            let zeros = ("cotangent::stream_zeros", vec![size, stream.clone()]);
            let needed = self.vars.result_of(zeros, "_needed", Type::pointer(Type::UINT), forward);
            args.push(Expr::load(needed.clone()));
            let most = self.vars.fetched("_most", needed, &stream, &mut told);
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
            let on_device = self.vars.result_of(zeros, "_d_arg", pointer, out);
            let sum = self.vars.fetched("_d_sum", on_device.clone(), stream, after);
            self.adjoint_of_aggregate(arg, &sum, after);
            return Expr::load(on_device);
        };
        let local = self.vars.add("_d_value", arg.ty.clone());
        out.push(declare(local, Some(initial)));
        let value = Place::local(local, arg.ty.clone());
        let copy = ("cotangent::uploaded", vec![Expr::address_of(value.clone()), stream.clone()]);
        let on_device = self.vars.result_of(copy, "_d_arg", pointer, out);
        if self.facts.is_active_value(arg) {
            after.push(fetch(&value, &on_device, stream));
            self.adjoint_of_aggregate(arg, &value, after);
        }
        after.push(call_of("cotangent::release", vec![Expr::load(on_device.clone()), stream.clone()]));
        Expr::load(on_device)
    }

    /// The derivative of a kernel takes its arrays to be apart. Arguments that are parts of one array were merged before
    /// (`overlap`); what may be the same array or another one is looked at before the launch, by the points that arrays are known by.
    fn check_overlap(&mut self, stmt: &Stmt, launch: &Launch) -> Block {
        let mut checks = Block::new();
        let written = effects(self.facts.module, launch.kernel).params;
        let known = points(self.facts.module, self.facts.primal, &self.facts.locals.address_taken);
        let mut before: Vec<(usize, Expr, BTreeSet<Object>)> = Vec::new();
        for (position, arg) in launch.args.iter().enumerate() {
            for pointer in self.pointers_in(arg).unwrap_or_else(|| vec![arg.clone()]) {
                let reached = self.facts.objects.reachable(&pointer);
                for (other, other_pointer, other_reached) in &before {
                    let meets = reached.iter().any(|mine| other_reached.iter().any(|object| mine.overlaps(object)));
                    let is_active = reached.union(other_reached).any(|object| self.facts.activity.is_active(object));
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
                            let found = same_array(self.facts.module, launch, [*other, position], stmt.span);
                            self.report(found);
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
        let written = effects(self.facts.module, launch.kernel).others;
        for object in written {
            let Base::Global(global) = object.base else { continue };
            let variable = &self.facts.module.globals[global];
            if carries_floats(self.facts.module, &variable.ty) {
                let message = format!("the kernel may leave active values in `{}`, which is not named", variable.name);
                self.report(
                    Diagnostic::new(CONSTANT_MEMORY, stmt.span, message, "no adjoint is handed in for it")
                        .help(format!("name `{}` too", variable.name)),
                );
            }
        }
    }

    /// A copy of an array as it is now.
    pub(in crate::transform::reverse) fn snapshot(
        &mut self,
        arg: &Expr,
        bytes: Expr,
        stream: &Expr,
        forward: &mut Block,
    ) -> Place {
        let name = self.name_beside("_kept", arg);
        let ty = Type::pointer(Type::Opaque(SNAPSHOT.into()));
        let from = Expr::cast(arg.uncast_pointer().clone(), const_void());
        self.vars.result_of(("cotangent::take_snapshot", vec![from, bytes, stream.clone()]), &name, ty, forward)
    }

    /// The array of which a copy was made, as it was then.
    pub(in crate::transform::reverse) fn restored(
        &mut self,
        arg: &Expr,
        snapshot: &Place,
        stream: &Expr,
        reverse: &mut Block,
    ) -> Expr {
        let name = self.name_beside("_then", arg);
        let ty = Type::pointer(arg.ty.pointee().cloned().unwrap_or(Type::Void));
        let args = vec![Expr::load(snapshot.clone()), stream.clone()];
        let place = self.vars.result_of(("cotangent::restored", args), &name, ty, reverse);
        Expr::cast(Expr::load(place), arg.ty.clone())
    }

    fn name_beside(&self, start: &str, arg: &Expr) -> String {
        variable(arg).map_or(start.to_owned(), |local| format!("{start}_{}", self.vars.function.locals[local].name))
    }
}
