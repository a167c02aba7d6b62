//! What statements write.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::objects::{Base, Object, Objects, objects};
use crate::ir::walk::{self, Node};
use crate::ir::{
    Expr, ExprKind, Function, FunctionId, GlobalId, GlobalStorage, LocalId, Module, OpaqueArg, Place, PlaceKind, Stmt,
    StmtKind, Storage, Type, Unread,
};
use crate::rules::{CHECKPOINT, Partial, RuntimeClass, derivative, runtime_class};

/// The objects that a block may write, those of its own variables included. Calls must be of pure functions, or of
/// functions with a rule.
pub fn written(objects: &Objects<'_>, block: &[Stmt]) -> BTreeSet<Object> {
    let mut found = BTreeSet::new();
    walk::each_stmt(block, &mut |stmt| {
        if let StmtKind::Declare { local, .. } = &stmt.kind {
            found.insert(Object::local(*local));
        }
        if let StmtKind::For(for_loop) = &stmt.kind {
            found.insert(Object::local(for_loop.counter));
        }
        found.extend(stmt_writes(objects, stmt));
    });
    found
}

/// The objects that a statement itself may write; what stands inside it is not looked at.
pub fn stmt_writes(objects: &Objects<'_>, stmt: &Stmt) -> BTreeSet<Object> {
    let places = walk::written_places(stmt).into_iter();
    let mut found: BTreeSet<Object> = places.flat_map(|place| objects.of_place(place)).collect();
    match &stmt.kind {
        StmtKind::Call { function, args, .. } if objects.module().rule(*function).is_some() => {
            found.extend(call_writes(objects, *function, args));
        }
        StmtKind::Launch(launch) => found.extend(call_writes(objects, launch.kernel, &launch.args)),
        StmtKind::Runtime { call, args, .. } => found.extend(runtime_writes(objects, call, args)),
        StmtKind::Call { .. }
        | StmtKind::Declare { .. }
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
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { code: Unread::Call(_), .. } => {}
        StmtKind::Opaque { code: Unread::Passed, .. } => found.extend(objects.handed_over()),
        StmtKind::Opaque { code: Unread::Body { .. }, args, .. } => found.extend(changed_by_body(objects, args)),
    }
    found
}

/// What a body that is not read may change: what its parameters lead to, but for what a pointer to `const` does, and
/// variables that it mentions.
fn changed_by_body(objects: &Objects<'_>, args: &[OpaqueArg]) -> BTreeSet<Object> {
    let is_const =
        |ty: &Type| matches!(ty, Type::Pointer(pointer) if pointer.is_const && !pointer.pointee.is_pointer());
    let given = args.iter().filter_map(OpaqueArg::value).filter(|value| !is_const(&value.ty));
    let values: Vec<Expr> = given.collect();
    let is_changeable = |object: &Object| match object.base {
        Base::Global(global) => match objects.module().globals[global].storage {
            GlobalStorage::Constant | GlobalStorage::Constexpr => !object.path.is_empty(),
            GlobalStorage::Device | GlobalStorage::Managed | GlobalStorage::Host => true,
        },
        Base::Local(_) | Base::Unread | Base::Unknown => true,
    };
    values.iter().flat_map(|value| objects.reachable(value)).filter(is_changeable).collect()
}

/// What a call of the runtime changes: the memory that a copy or a fill goes to, and every variable whose address it
/// takes, but for the source of a copy.
fn runtime_writes(objects: &Objects<'_>, call: &str, args: &[Expr]) -> BTreeSet<Object> {
    if call == CHECKPOINT {
        return BTreeSet::new();
    }
    let ends = runtime_class(call).and_then(RuntimeClass::ends);
    let (to, from) = ends.map_or((None, None), |(to, from)| (Some(to), from));
    let is_meant =
        |(position, arg): &(usize, &Expr)| Some(*position) != from && (arg.ty.is_pointer() || Some(*position) == to);
    args.iter()
        .enumerate()
        .filter(is_meant)
        .flat_map(|(position, arg)| {
            // The target may be a record with a pointer in it.
            let is_target = Some(position) == to;
            let reached = if arg.ty.is_pointer() { objects.targets(arg) } else { objects.reachable(arg) };
            reached.into_iter().filter(move |object| is_target || object.as_local().is_some())
        })
        .collect()
}

/// The objects that a called function may write, beside where its result goes. Nothing need be pure.
pub fn call_writes(objects: &Objects<'_>, callee: FunctionId, args: &[Expr]) -> BTreeSet<Object> {
    reached_by(objects, effects(objects.module(), callee), args)
}

fn reached_by(objects: &Objects<'_>, effects: Effects, args: &[Expr]) -> BTreeSet<Object> {
    let through = effects.params.iter().filter_map(|position| args.get(*position));
    through.flat_map(|arg| objects.reachable(arg)).chain(effects.others).collect()
}

/// The same without what only integers are written to.
///
/// *Integers.* Let the functions that are called never make a pointer to other things of a pointer to integers, and never
/// take the bits of a number. Then what they write through a parameter of that type carries no derivative, wherever it is
/// copied to.
pub(super) fn numbers_written(objects: &Objects<'_>, callee: FunctionId, args: &[Expr]) -> BTreeSet<Object> {
    let module = objects.module();
    let (mut effects, function) = (effects(module, callee), &module.functions[callee]);
    if !mixes_integers_and_numbers(module, callee) {
        effects.params.retain(|position| !points_to_integers(&function.locals[function.params[*position]].ty));
    }
    reached_by(objects, effects, args)
}

fn points_to_integers(ty: &Type) -> bool {
    matches!(ty.pointee(), Some(Type::Int(_) | Type::Bool))
}

/// Whether a function, or one that it calls, makes a pointer to other things of a pointer to integers, or takes the bits of
/// a number.
fn mixes_integers_and_numbers(module: &Module, id: FunctionId) -> bool {
    let is_other_view = |expr: &Expr, operand: &Expr| {
        points_to_integers(&operand.ty) && expr.ty.is_pointer() && !points_to_integers(&expr.ty)
    };
    let mut found = false;
    for function in called_by(module, id).into_iter().filter_map(|id| module.functions.get(id)) {
        walk::each_expr(&function.body, &mut |expr| {
            found |= takes_bits(expr) || matches!(&expr.kind, ExprKind::Cast(operand) if is_other_view(expr, operand));
        });
    }
    found
}

/// Whether an expression is made of the bits of a number.
pub fn takes_bits(expr: &Expr) -> bool {
    let ExprKind::Math(name, args) = &expr.kind else { return false };
    let is_refused = || derivative(name).is_some_and(|rule| matches!(rule.partial(0), Partial::Refused(_)));
    args.iter().any(|arg| matches!(arg.ty, Type::Float(_))) && is_refused()
}

/// A function and all that it calls.
fn called_by(module: &Module, id: FunctionId) -> BTreeSet<FunctionId> {
    let (mut open, mut seen) = (vec![id], BTreeSet::from([id]));
    while let Some(function) = open.pop().and_then(|id| module.functions.get(id)) {
        walk::each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::Call { function, .. } = &stmt.kind
                && seen.insert(*function)
            {
                open.push(*function);
            }
        });
    }
    seen
}

/// The memory that a function allocates itself. What it allocates for a parameter has the parameter's name.
pub fn allocated(objects: &Objects<'_>, body: &[Stmt]) -> BTreeSet<Object> {
    let mut found = BTreeSet::new();
    walk::each_stmt(body, &mut |stmt| {
        if let StmtKind::Runtime { call, into: Some(into), .. } = &stmt.kind
            && matches!(runtime_class(call), Some(RuntimeClass::Memory { .. }))
        {
            found.extend(objects.new_memory(into));
        }
    });
    found
}

/// Whether a pointer may point to what the caller brought.
pub fn may_be_brought(module: &Module, function: &Function, pointer: &Expr) -> bool {
    let inside = objects(module, function);
    let own = allocated(&inside, &function.body);
    let is_brought = |object: &Object| brought_by(function, object).is_some() && !own.contains(object);
    inside.targets(pointer).iter().any(is_brought)
}

/// The parameters whose memory a function may free.
pub fn freed_params(module: &Module, function: &Function) -> BTreeSet<LocalId> {
    let inside = objects(module, function);
    let mut found = BTreeSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Runtime { call, args, .. } = &stmt.kind
            && matches!(runtime_class(call), Some(RuntimeClass::Free { .. }))
        {
            let freed = args.first().map(|pointer| inside.targets(pointer)).unwrap_or_default();
            found.extend(freed.iter().filter_map(|object| brought_by(function, object)));
        }
    });
    found
}

/// The parameter that an object is reached from.
fn brought_by(function: &Function, object: &Object) -> Option<LocalId> {
    match object.base {
        Base::Local(local) => Some(local).filter(|local| function.params.contains(local)),
        Base::Global(_) | Base::Unread | Base::Unknown => None,
    }
}

/// What calling a function may change.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Effects {
    /// The positions of the parameters through which it may write.
    pub params: BTreeSet<usize>,
    /// Variables outside functions, and unknown memory.
    pub others: BTreeSet<Object>,
}

/// What calling a function may change, told by its body and those of its callees.
pub fn effects(module: &Module, id: FunctionId) -> Effects {
    let mut found = Effects::default();
    let Some(function) = module.functions.get(id) else { return found };
    let inside = objects(module, function);
    let mut all = written(&inside, &function.body);
    walk::each_stmt(&function.body, &mut |stmt| {
        if let StmtKind::Call { function, args, .. } = &stmt.kind {
            all.extend(call_writes(&inside, *function, args));
        }
    });
    for object in all {
        match object.base {
            Base::Local(_) if object.path.is_empty() => {}
            Base::Local(local) => match function.params.iter().position(|param| *param == local) {
                Some(position) => drop(found.params.insert(position)),
                None => drop(found.others.insert(Object::unknown())),
            },
            Base::Global(_) | Base::Unread | Base::Unknown => drop(found.others.insert(object)),
        }
    }
    found
}

/// The positions of the parameters through which a function may read memory.
pub fn reads_through(module: &Module, id: FunctionId) -> BTreeSet<usize> {
    let function = &module.functions[id];
    let inside = objects(module, function);
    let mut read = BTreeSet::new();
    let mut note = |reached: BTreeSet<Object>| {
        for object in reached.into_iter().filter(|object| !object.path.is_empty()) {
            let owner = match object.base {
                Base::Local(owner) => function.params.iter().position(|param| *param == owner),
                Base::Global(_) | Base::Unread | Base::Unknown => None,
            };
            read.extend(owner);
        }
    };
    let _ = walk::visit_block(&function.body, &mut |node| {
        match node {
            Node::Expr(Expr { kind: ExprKind::Load(place), .. }) => note(inside.of_place(place)),
            Node::Stmt(Stmt { kind: StmtKind::Call { args, .. }, .. }) => {
                args.iter().for_each(|arg| note(inside.reachable(arg)));
            }
            Node::Stmt(Stmt { kind: StmtKind::Atomic { place, .. }, .. }) => note(inside.of_place(place)),
            Node::Stmt(Stmt { kind: StmtKind::Opaque { code: Unread::Body { .. }, args, .. }, .. }) => {
                args.iter().filter_map(OpaqueArg::value).for_each(|value| note(inside.reachable(&value)));
            }
            Node::Expr(_) | Node::Stmt(_) | Node::Place(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
    read
}

/// The variables outside functions that a function mentions, itself or by what it calls.
pub fn variables_of(module: &Module, id: FunctionId) -> BTreeSet<GlobalId> {
    let mut found = BTreeSet::new();
    for function in called_by(module, id).into_iter().filter_map(|id| module.functions.get(id)) {
        let _ = walk::visit_block(&function.body, &mut |node| {
            if let Node::Place(Place { kind: PlaceKind::Global(global), .. }) = node {
                found.insert(*global);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    found
}

/// Whether calling a function does nothing but compute its result: it writes only variables of its own and meets no
/// other thread. Its callees must be pure too.
pub fn is_pure(module: &Module, function: &Function, is_pure_callee: &dyn Fn(FunctionId) -> bool) -> bool {
    let objects = objects(module, function);
    let writes_own = written(&objects, &function.body).iter().all(|object| match object.base {
        Base::Local(local) => object.path.is_empty() && function.locals[local].storage == Storage::Private,
        Base::Global(_) | Base::Unread | Base::Unknown => false,
    });
    let mut is_quiet = !function.result.is_pointer();
    walk::each_stmt(&function.body, &mut |stmt| match &stmt.kind {
        StmtKind::Call { function, .. } => is_quiet &= is_pure_callee(*function),
        StmtKind::Barrier { .. }
        | StmtKind::Atomic { .. }
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Opaque { .. } => is_quiet = false,
        // What these write is looked at above.
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
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. } => {}
    });
    writes_own && is_quiet
}

/// Whether a value of this type leads to memory.
pub fn uses_memory(module: &Module, ty: &Type) -> bool {
    match ty {
        Type::Pointer(_) | Type::Opaque(_) => true,
        Type::Array(element, _) => uses_memory(module, element),
        Type::Record(record) => module.records[*record].fields.iter().any(|field| uses_memory(module, &field.ty)),
        Type::Void | Type::Bool | Type::Int(_) | Type::Float(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    #[test]
    fn a_call_writes_through_its_arguments_and_those_of_its_callees() {
        let module = text::parse(
            "device total: float;
             device set(p: float*, v: float) { *p = v; }
             device both(p: float*, q: float*, r: const float*) { call set(q, *r); total = 1.0f; let x: float; call set(&x, 2.0f); }
             kernel k(a: float*, b: float*) { let c: float; call both(a, &c, b); }
             rule both: constant;",
        )
        .expect("the text is well-formed");
        let both = module.function("both").expect("a function");
        assert_eq!(effects(&module, both).params, BTreeSet::from([1]));
        assert_eq!(effects(&module, both).others.len(), 1);
        let kernel = &module.functions[module.function("k").expect("a function")];
        let written = written(&objects(&module, kernel), &kernel.body);
        let locals: Vec<_> =
            written.iter().filter_map(Object::as_local).map(|local| kernel.local_name(local)).collect();
        assert_eq!((locals, written.len()), (vec!["c"], 2));
    }

    #[test]
    fn a_body_that_is_not_read_changes_what_is_not_const_and_what_it_mentions() {
        let module = text::parse(
            "device total: float;
             constant table: float[4];
             device f(p: float*, q: const float*, v: float) -> float {
               unread \"::f\"(\"{}\", p, q, v, changed total, &table);
             }
             rule f: constant;",
        )
        .expect("the text is well-formed");
        let f = module.function("f").expect("a function");
        let found = effects(&module, f);
        assert_eq!(found.params, BTreeSet::from([0]));
        assert_eq!(found.others.len(), 1, "the variable of the device");
        assert_eq!(reads_through(&module, f), BTreeSet::from([0, 1]));
    }

    #[test]
    fn a_record_of_two_choices_leads_to_what_both_do() {
        let module = text::parse(
            "record S { p: float* }
             device set(s: S) { *s.p = 1.0f; }
             kernel k(a: S, b: S, n: int) { call set(((n > 3) ? a : b)); }
             rule set: constant;",
        )
        .expect("the text is well-formed");
        let kernel = &module.functions[module.function("k").expect("a function")];
        let written = written(&objects(&module, kernel), &kernel.body);
        assert_eq!(written.len(), 2);
    }
}
