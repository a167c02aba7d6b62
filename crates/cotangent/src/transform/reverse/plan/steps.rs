//! Whether the steps of a host loop may be run again, what state they begin with, and what of them happens once.
//!
//! *State.* Memory that the loop writes is reached, in the loop, from pointers that were there before it: what they hold
//! on entry leads to all of it. Those arrays, and the variables that the loop changes, are the state. So is what a step reads and
//! the function changes after the loop: when the step is run again, it must find what it found then.
//!
//! *Once.* What cannot be repeated gives its results to variables of the host: these are kept, and given again. A copy to memory
//! that the loop reads nowhere is not repeated either: it is an output, and no state.
//!
//! *Stated.* `COTANGENT_CHECKPOINT(u, n)` in the loop says how large an array of the state is. It takes nothing out of the state but
//! arrays that no step reads.

use std::collections::BTreeSet;

use super::super::plan::loops::{Iterations, Loop};
use super::super::variables::Variables;
use super::Values;
use crate::analysis::{self, Base, Object, uses_memory};
use crate::diagnostic::{CANNOT_REPEAT, Diagnostic};
use crate::ir::walk;
use crate::ir::{
    BinaryOp, Expr, ExprKind, FunctionId, LocalId, Module, OpaqueArg, Place, PlaceKind, Stmt, StmtKind, Type, Unread,
};
use crate::rules::{CHECKPOINT, DEVICE_TO_HOST, RuntimeClass, runtime_class};
use crate::source::Span;

/// Copies to the host of at most so many bytes are kept and not made again.
const MOST_KEPT: i128 = 256;

/// Bytes of the largest number.
const LARGEST_NUMBER: i128 = 8;

/// What is known about the steps of a loop.
pub(in crate::transform::reverse) struct Step {
    /// Pointers to the arrays of the state.
    pub(in crate::transform::reverse) arrays: Vec<(Expr, Extent)>,
    /// Variables of the state.
    pub(in crate::transform::reverse) values: Vec<LocalId>,
    /// Whether something is done in other streams than the default one.
    pub(in crate::transform::reverse) has_streams: bool,
    /// Whether some of the arrays are the caller's, who looks at them afterwards.
    pub(in crate::transform::reverse) outlives: bool,
    /// Whether its kernels add floating numbers atomically: what is run again may differ in its last bits.
    pub(in crate::transform::reverse) is_rounded_anew: bool,
    /// Statements that happen once, and the variables that hold their results.
    pub(in crate::transform::reverse) once: Vec<(Stmt, Vec<Place>)>,
}

/// An array whose size the loop's body states.
struct Stated {
    pointer: LocalId,
    bytes: Expr,
}

/// How large an array of the state is.
pub(in crate::transform::reverse) enum Extent {
    /// So many bytes, with which the function allocates it.
    Known(Expr),
    /// So many bytes, as the loop's body says.
    Stated(Expr),
    /// The runtime is asked. Other arrays of the caller may lie in the same allocation.
    Asked,
}

impl Values<'_> {
    /// What the steps of a loop begin with.
    ///
    /// # Errors
    /// Why they cannot be run again.
    pub(in crate::transform::reverse) fn step_of_loop(&self, it: &Loop<'_>, body: &[Stmt]) -> Result<Step, Diagnostic> {
        if it.head.is_some() && self.iterations(it) == Iterations::Counted {
            return Err(cannot_repeat(it.stmt.span, "no formula gives the counter of a step"));
        }
        let read = self.read_in(it);
        let once = self.what_happens_once(body, &read)?;
        let mut written = self.written_again(it, body, &once);
        let later = self.written_later(it);
        written.extend(read.iter().filter(|object| object.overlaps_any(&later)).cloned());
        let outer = self.pointers_before(it, body);
        let stated = self.stated_arrays(it, body)?;
        let mut arrays = Vec::new();
        let mut covered = BTreeSet::new();
        let mut outlives = false;
        for pointer in outer {
            let targets = self.vars.facts.objects.targets(&pointer);
            if !targets.iter().any(|object| object.overlaps_any(&written)) {
                continue;
            }
            outlives |= targets.iter().any(|object| self.is_of_caller(object));
            // Variables are kept as such.
            if targets.iter().all(|object| self.is_part(object)) {
                continue;
            }
            if targets.iter().any(|object| self.is_part(object) || object.base == Base::Unread) {
                return Err(cannot_repeat(it.stmt.span, "a pointer may point to a variable, or to an array"));
            }
            let known = self.vars.facts.known_bytes(&pointer, self.frames);
            let bytes =
                stated.iter().find(|stated| pointer.as_local() == Some(stated.pointer)).map(|found| &found.bytes);
            let extent = match (known, bytes) {
                (Some(bytes), _) => Extent::Known(bytes),
                (None, Some(bytes)) => Extent::Stated(bytes.clone()),
                (None, None) => Extent::Asked,
            };
            let is_asked = matches!(extent, Extent::Asked);
            if is_asked && !stated.is_empty() && targets.iter().any(|object| object.overlaps_any(&read)) {
                let why = "a step reads and changes an array that no COTANGENT_CHECKPOINT of this loop names";
                return Err(cannot_repeat(it.stmt.span, why));
            }
            covered.extend(targets);
            arrays.push((pointer, extent));
        }
        if arrays.iter().any(|(_, extent)| !matches!(extent, Extent::Known(_))) {
            self.arrays_of_caller_are_known(it)?;
        }
        let mut values = Vec::new();
        for object in &written {
            match (object.as_local(), &object.base) {
                (Some(local), _) if it.declared.contains(&local) => {}
                (Some(local), _) => values.push(local),
                (None, Base::Local(local)) if object.path.is_empty() || it.declared.contains(local) => {}
                (None, Base::Local(_)) if covered.iter().any(|known| known.overlaps(object)) => {}
                (None, Base::Local(local)) if self.is_part(object) => values.push(*local),
                (None, Base::Global(global)) => {
                    let name = &self.vars.facts.module.globals[*global].name;
                    return Err(cannot_repeat(
                        it.stmt.span,
                        &format!("its steps use `{name}`, which is changed here or later"),
                    ));
                }
                (None, Base::Local(_) | Base::Unread | Base::Unknown) => {
                    return Err(cannot_repeat(it.stmt.span, "it changes memory of which no beginning is known"));
                }
            }
        }
        values.sort_unstable();
        values.dedup();
        let is_rounded_anew = self.adds_in_any_order(body);
        Ok(Step { arrays, values, has_streams: has_streams(body), outlives, is_rounded_anew, once })
    }

    /// What the loop writes whenever it is run: all but outputs.
    fn written_again(&self, it: &Loop<'_>, body: &[Stmt], once: &[(Stmt, Vec<Place>)]) -> BTreeSet<Object> {
        let mut found: BTreeSet<Object> =
            it.written.iter().filter(|object| object.as_local().is_some()).cloned().collect();
        walk::each_stmt(body, &mut |stmt| {
            let is_output = once.iter().any(|(other, places)| places.is_empty() && other == stmt);
            if !is_output {
                found.extend(analysis::stmt_writes(self.vars.facts.objects, stmt));
            }
        });
        found
    }

    /// What the function changes after a loop. What it frees it frees when all steps are reversed.
    fn written_later(&self, it: &Loop<'_>) -> BTreeSet<Object> {
        let facts = self.vars.facts;
        let (mut all, mut inside) = (Vec::new(), 0);
        walk::each_stmt(&facts.primal.body, &mut |stmt| all.push(stmt));
        walk::each_stmt(std::slice::from_ref(it.stmt), &mut |_| inside += 1);
        // Statements come in the order in which they run, since nothing goes around the loop; those inside right after it.
        let position = all.iter().position(|stmt| stmt.span == it.stmt.span && *stmt == it.stmt);
        let is_free = |stmt: &Stmt| {
            let class = if let StmtKind::Runtime { call, .. } = &stmt.kind { runtime_class(call) } else { None };
            matches!(class, Some(RuntimeClass::Free { .. }))
        };
        let later = all.into_iter().skip(position.map_or(0, |position| position + inside));
        later.filter(|stmt| !is_free(stmt)).flat_map(|stmt| analysis::stmt_writes(facts.objects, stmt)).collect()
    }

    /// The memory that a loop may read.
    fn read_in(&self, it: &Loop<'_>) -> BTreeSet<Object> {
        let facts = self.vars.facts;
        let mut found = BTreeSet::new();
        let inside = std::slice::from_ref(it.stmt);
        walk::each_expr(inside, &mut |expr| {
            if let ExprKind::Load(place) = &expr.kind {
                found.extend(facts.objects.of_place(place));
            }
        });
        walk::each_stmt(inside, &mut |stmt| match &stmt.kind {
            StmtKind::Launch(launch) => {
                found.extend(variables_of(facts.module, launch.kernel));
                let positions = analysis::reads_through(facts.module, launch.kernel);
                for (position, arg) in launch.args.iter().enumerate() {
                    if positions.contains(&position) || !arg.ty.is_pointer() {
                        found.extend(facts.objects.reachable(arg));
                    }
                }
            }
            StmtKind::Runtime { call, .. } if **call == *CHECKPOINT => {}
            StmtKind::Runtime { call, args, .. } => {
                let to = runtime_class(call).and_then(RuntimeClass::ends).map(|(to, _)| to);
                let others = args.iter().enumerate().filter(|(position, _)| Some(*position) != to);
                others.for_each(|(_, arg)| found.extend(facts.objects.reachable(arg)));
            }
            StmtKind::Call { args, .. } => {
                args.iter().for_each(|arg| found.extend(facts.objects.reachable(arg)));
            }
            StmtKind::Opaque { args, .. } => {
                let values = args.iter().filter_map(OpaqueArg::value);
                values.for_each(|value| found.extend(facts.objects.reachable(&value)));
            }
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => {}
        });
        found
    }

    /// Whether kernels that are launched in a block add floating numbers in the order in which threads come.
    fn adds_in_any_order(&self, body: &[Stmt]) -> bool {
        let module = self.vars.facts.module;
        let mut is_found = false;
        walk::each_stmt(body, &mut |stmt| {
            let StmtKind::Launch(launch) = &stmt.kind else { return };
            for id in analysis::ordering::called(module, launch.kernel).into_iter().chain([launch.kernel]) {
                walk::each_stmt(&module.functions[id].body, &mut |stmt| {
                    is_found |=
                        matches!(&stmt.kind, StmtKind::Atomic { place, .. } if matches!(place.ty, Type::Float(_)));
                });
            }
        });
        is_found
    }

    /// Whether memory may be looked at when the function has ended.
    fn is_of_caller(&self, object: &Object) -> bool {
        match object.base {
            Base::Local(local) => self.vars.facts.primal.params.contains(&local),
            Base::Global(_) | Base::Unread | Base::Unknown => true,
        }
    }

    /// Whether an object is a part of a variable, which no pointer need be followed to.
    fn is_part(&self, object: &Object) -> bool {
        !object.path.iter().any(|step| matches!(step, analysis::Step::Deref))
    }

    /// The pointers from before the loop that it mentions, those in arrays and records too.
    fn pointers_before(&self, it: &Loop<'_>, body: &[Stmt]) -> Vec<Expr> {
        let vars = self.vars;
        let mut found = Vec::new();
        let mut mentioned: Vec<LocalId> = Vec::new();
        walk::each_place(body, &mut |place| {
            if let Some(local) = place.as_local()
                && !it.declared.contains(&local)
                && !mentioned.contains(&local)
            {
                mentioned.push(local);
            }
        });
        for local in mentioned {
            pointers_in(vars, &Place::local(local, vars.function.locals[local].ty.clone()), &mut found);
        }
        found
    }

    /// Whether the function's parameters still lead to all arrays of the caller when the loop begins: each ends where another one in
    /// the same allocation begins.
    fn arrays_of_caller_are_known(&self, it: &Loop<'_>) -> Result<(), Diagnostic> {
        let facts = self.vars.facts;
        let writes = |block: &[Stmt], to: &BTreeSet<Object>| {
            let mut count = 0;
            walk::each_stmt(block, &mut |stmt| {
                count += usize::from(
                    analysis::stmt_writes(facts.objects, stmt).iter().any(|object| object.overlaps_any(to)),
                );
            });
            count
        };
        let why = |what: &str| format!("{what}, so that it is not known where arrays of the caller end");
        for param in &facts.primal.params {
            let place = Place::local(*param, facts.primal.locals[*param].ty.clone());
            let pointers = pointers_of(self.vars, &place);
            let own = facts.objects.of_place(&place);
            let is_changed = || writes(&facts.primal.body, &own) > writes(std::slice::from_ref(it.stmt), &own);
            if !pointers.is_empty() && is_changed() {
                let name = &facts.primal.locals[*param].name;
                return Err(cannot_repeat(it.stmt.span, &why(&format!("`{name}` is made to point elsewhere"))));
            }
            if pointers.iter().any(|pointer| pointer.ty.pointee().is_some_and(|to| uses_memory(facts.module, to))) {
                return Err(cannot_repeat(it.stmt.span, &why("arrays are reached through pointers in memory")));
            }
        }
        Ok(())
    }

    /// The arrays whose sizes the loop's body states.
    fn stated_arrays(&self, it: &Loop<'_>, body: &[Stmt]) -> Result<Vec<Stated>, Diagnostic> {
        let mut found = Vec::new();
        for stmt in body {
            let StmtKind::Runtime { call, args, .. } = &stmt.kind else { continue };
            let [array, count] = args.as_slice() else { continue };
            if **call != *CHECKPOINT {
                continue;
            }
            let pointer = array.uncast_pointer().as_local().filter(|local| !it.declared.contains(local));
            let (Some(pointer), Some(element)) = (pointer, array.ty.pointee()) else {
                return Err(cannot_repeat(
                    stmt.span,
                    "what is stated is not an array from before the loop, by its name",
                ));
            };
            if walk::loads_any(count, &mut |place| self.is_of_steps(it, place)) {
                return Err(cannot_repeat(stmt.span, "how large the array is differs from step to step"));
            }
            let size = Expr::new(ExprKind::SizeOf(element.clone()), Type::SIZE);
            found.push(Stated { pointer, bytes: Expr::binary(BinaryOp::Multiply, count.clone(), size) });
        }
        Ok(found)
    }

    /// Whether a place lives in a loop, or is changed by it.
    fn is_of_steps(&self, it: &Loop<'_>, place: &Place) -> bool {
        place.as_local().is_some_and(|local| it.declared.contains(&local))
            || self.vars.facts.objects.of_place(place).iter().any(|object| object.overlaps_any(&it.written))
    }

    /// The statements of a step that cannot be repeated.
    fn what_happens_once(&self, body: &[Stmt], read: &BTreeSet<Object>) -> Result<Vec<(Stmt, Vec<Place>)>, Diagnostic> {
        let mut found = Vec::new();
        let mut refused = None;
        walk::each_stmt(body, &mut |stmt| match &stmt.kind {
            StmtKind::Opaque { code, args, into } => {
                let is_handed = args.iter().any(|arg| match arg {
                    OpaqueArg::Value(value) => value.ty.is_pointer() && !matches!(code, Unread::Call(_)),
                    OpaqueArg::Variable(place) => place.as_local().is_none(),
                    OpaqueArg::Text(_) => false,
                });
                if is_handed {
                    refused.get_or_insert((stmt.span, "code that is not read is handed memory, and may change it"));
                }
                let places = args.iter().filter_map(OpaqueArg::variable).chain(into).cloned().collect();
                found.push((stmt.clone(), places));
            }
            StmtKind::Runtime { call, args, into: None } if self.is_output(call, args, read) => {
                found.push((stmt.clone(), Vec::new()));
            }
            StmtKind::Runtime { call, args, into } => match self.runtime_once(call, args, into.as_ref()) {
                Ok(places) if places.is_empty() => {}
                Ok(places) => found.push((stmt.clone(), places)),
                Err(why) => drop(refused.get_or_insert((stmt.span, why))),
            },
            StmtKind::Declare { .. }
            | StmtKind::Assign { .. }
            | StmtKind::Accumulate { .. }
            | StmtKind::Call { .. }
            | StmtKind::If { .. }
            | StmtKind::For(_)
            | StmtKind::While { .. }
            | StmtKind::Switch { .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_)
            | StmtKind::Barrier { .. }
            | StmtKind::Atomic { .. }
            | StmtKind::Collective { .. }
            | StmtKind::Launch(_)
            | StmtKind::Push { .. }
            | StmtKind::Pop { .. } => {}
        });
        match refused {
            Some((span, why)) => Err(cannot_repeat(span, why)),
            None => Ok(found),
        }
    }

    /// Whether a call copies to memory that the loop does not read.
    fn is_output(&self, call: &str, args: &[Expr], read: &BTreeSet<Object>) -> bool {
        let Some(RuntimeClass::Move(moved)) = runtime_class(call) else { return false };
        let Some(to) = args.get(moved.to).filter(|to| to.ty.is_pointer()) else { return false };
        let targets = self.vars.facts.objects.targets(to);
        !targets.is_empty() && targets.iter().all(|object| !self.is_part(object) && !object.overlaps_any(read))
    }

    /// The variables that hold what a call of the runtime gives once; none of a call that is repeated.
    fn runtime_once(&self, call: &str, args: &[Expr], into: Option<&Place>) -> Result<Vec<Place>, &'static str> {
        let Some(class) = runtime_class(call) else { return Ok(Vec::new()) };
        let variables = || args.iter().filter_map(Expr::as_address).filter(|place| place.as_local().is_some());
        match class {
            RuntimeClass::Move(moved) => {
                let is_small = args.get(moved.to + 2).and_then(size_of).is_some_and(|bytes| bytes <= MOST_KEPT);
                let target = args.get(moved.to).and_then(|to| to.uncast_pointer().as_address());
                let is_to_host = moved.from.and_then(|from| args.get(from.kind)).is_some_and(is_to_host);
                let target = target.filter(|place| is_small && is_to_host && place.as_local().is_some());
                Ok(target.into_iter().chain(into.filter(|_| target.is_some())).cloned().collect())
            }
            RuntimeClass::Query => Ok(variables().chain(into).cloned().collect()),
            RuntimeClass::Create { .. } | RuntimeClass::Destroy => Err("a stream or an event is made in each step"),
            RuntimeClass::Memory { .. } | RuntimeClass::Allocate { .. } | RuntimeClass::Free { .. } => {
                Err("memory is allocated or freed in each step")
            }
            RuntimeClass::Symbol(_) => Err("a variable of the device is copied in each step"),
            RuntimeClass::Synchronize | RuntimeClass::Record | RuntimeClass::WaitFor | RuntimeClass::Own => {
                Ok(Vec::new())
            }
        }
    }
}

/// The variables outside functions that a kernel mentions.
fn variables_of(module: &Module, kernel: FunctionId) -> BTreeSet<Object> {
    let mut found = BTreeSet::new();
    for id in analysis::ordering::called(module, kernel).into_iter().chain([kernel]) {
        walk::each_place(&module.functions[id].body, &mut |place| {
            if let PlaceKind::Global(global) = place.kind {
                found.insert(Object { base: Base::Global(global), path: Vec::new() });
            }
        });
    }
    found
}

/// Whether a block does something in a stream that is named.
fn has_streams(body: &[Stmt]) -> bool {
    let mut found = false;
    let is_named = |stream: &Expr| !stream.is_zero() && stream.kind != ExprKind::Null;
    walk::each_stmt(body, &mut |stmt| {
        if let StmtKind::Launch(launch) = &stmt.kind {
            found |= launch.stream.as_ref().is_some_and(is_named);
        } else if let StmtKind::Runtime { call, args, .. } = &stmt.kind {
            let stream = runtime_class(call).and_then(RuntimeClass::stream_of_move).flatten();
            found |= stream.and_then(|position| args.get(position)).is_some_and(is_named);
        }
    });
    found
}

/// The pointers that a place is or has.
pub(in crate::transform::reverse) fn pointers_of(vars: &Variables<'_>, place: &Place) -> Vec<Expr> {
    let mut found = Vec::new();
    pointers_in(vars, place, &mut found);
    found
}

fn pointers_in(vars: &Variables<'_>, place: &Place, found: &mut Vec<Expr>) {
    match &place.ty {
        Type::Pointer(_) => found.push(Expr::load(place.clone())),
        Type::Record(_) | Type::Array(..) => vars.parts(place).iter().for_each(|part| pointers_in(vars, part, found)),
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) | Type::Opaque(_) => {}
    }
}

/// A number of bytes that is written out.
fn size_of(bytes: &Expr) -> Option<i128> {
    let is_number = matches!(bytes.kind, ExprKind::SizeOf(Type::Int(_) | Type::Float(_) | Type::Bool));
    bytes.uncast().as_int().or(is_number.then_some(LARGEST_NUMBER))
}

fn is_to_host(kind: &Expr) -> bool {
    kind.uncast().as_int() == Some(DEVICE_TO_HOST.into())
}

fn cannot_repeat(span: Span, why: &str) -> Diagnostic {
    Diagnostic::new(CANNOT_REPEAT, span, "the steps of this loop cannot be run again from checkpoints", why)
        .help("move it out of the loop, or leave the budget out: then every step keeps what its reverse needs")
}
