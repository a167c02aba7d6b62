//! Launches whose arguments are parts of one array.
//!
//! The derivative of a kernel takes its arrays to be apart. Arguments that point into the same array, `u` and `u + 1`,
//! break that: an adjoint is then reached by two names. So the kernel is copied into one that takes the array once and
//! the distances of its other parts, `k_overlap_0_1(u, 1, …)`. In the copy there is one array and one adjoint, and whatever is
//! proven about it holds.
//!
//! *One array.* Two pointers are into one array if they are offsets of one variable's value, or if both can only point
//! to an object that is one array: what a parameter points to, or what the one allocation of a variable made.
//!
//! *What need not be merged.* A `__restrict__` pointer through which the kernel only writes: what is written through it
//! is reached through no other.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::locals::{NewLocals, declare, params_first, without_spans};
use super::taken_name::free_name;
use crate::analysis::{Base, Object, Objects, Step, carries_floats, effects, objects, reads_through};
use crate::diagnostic::Diagnostic;
use crate::ir::walk::{self, NodeMut};
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, Function, FunctionId, Launch, LocalId, Module, Place, PlaceKind, StmtKind, Type,
};
use crate::rules::{RuntimeClass, runtime_class};

/// The positions of arguments that are parts of one array; that of the array itself comes first.
type Group = Vec<usize>;

/// Replaces, in a host function, the launches whose arguments overlap. The kernels that they launch then are appended to
/// `program`; `normal` holds the function, and gets the normal forms that `normal_form` makes of them.
pub(super) fn merge_overlapping(
    program: &mut Module,
    normal: &mut Module,
    host: FunctionId,
    mut normal_form: impl FnMut(&Module, FunctionId, Function) -> Result<Function, Vec<Diagnostic>>,
) -> Result<(), Vec<Diagnostic>> {
    let mut body = std::mem::take(&mut normal.functions[host].body);
    let function = Function { body: body.clone(), ..normal.functions[host].clone() };
    let mut found = Vec::new();
    {
        let ctx = Ctx { module: normal, function: &function, objects: objects(normal, &function) };
        walk::each_stmt(&body, &mut |stmt| {
            if let StmtKind::Launch(launch) = &stmt.kind {
                found.push(ctx.groups(launch));
            }
        });
    }
    let mut made: HashMap<(FunctionId, Vec<Group>), FunctionId> = HashMap::new();
    let mut found = found.into_iter();
    let mut diagnostics = Vec::new();
    each_launch_mut(&mut body, &mut |launch| {
        let groups = found.next().unwrap_or_default();
        if groups.is_empty() {
            return;
        }
        let key = (launch.kernel, groups.clone());
        launch.kernel = *made.entry(key).or_insert_with(|| {
            let kernel = merged(program, launch.kernel, &groups);
            let id = FunctionId(normal.functions.len() as u32);
            match normal_form(normal, id, kernel.clone()) {
                Ok(form) => drop(normal.functions.push(form)),
                Err(found) => diagnostics.extend(found),
            }
            program.functions.push(kernel)
        });
        for group in &groups {
            for part in &group[1..] {
                launch.args[*part] = distance(&launch.args[group[0]], &launch.args[*part]);
            }
        }
    });
    normal.functions[host].body = body;
    if diagnostics.is_empty() { Ok(()) } else { Err(diagnostics) }
}

fn each_launch_mut(block: &mut Block, f: &mut impl FnMut(&mut Launch)) {
    for stmt in block {
        if let StmtKind::Launch(launch) = &mut stmt.kind {
            f(launch);
        }
        let _ = walk::stmt_parts_mut(stmt, &mut |part| {
            if let walk::PartMut::Block(inner) = part {
                each_launch_mut(inner, f);
            }
            ControlFlow::<()>::Continue(())
        });
    }
}

struct Ctx<'a> {
    module: &'a Module,
    /// The host function.
    function: &'a Function,
    objects: Objects<'a>,
}

impl Ctx<'_> {
    /// The arguments of a launch that are to be merged.
    fn groups(&self, launch: &Launch) -> Vec<Group> {
        let kernel = &self.module.functions[launch.kernel];
        let uses = Uses::of(self.module, launch.kernel);
        let mut groups: Vec<Group> = Vec::new();
        for (position, arg) in launch.args.iter().enumerate() {
            if !arg.ty.is_pointer() {
                continue;
            }
            let pointee = |position: usize| kernel.locals[kernel.params[position]].ty.pointee().cloned();
            let joins = |group: &&mut Group| {
                group.iter().any(|other| {
                    pointee(*other) == pointee(position)
                        && self.is_one_array(&launch.args[*other], arg)
                        && uses.must_merge(self.module, kernel, *other, position)
                })
            };
            match groups.iter_mut().find(joins) {
                Some(group) => group.push(position),
                None => groups.push(vec![position]),
            }
        }
        groups.retain(|group| group.len() > 1);
        // The array itself is one that may be written, if any may.
        let is_const = |position: &usize| {
            let ty = &kernel.locals[kernel.params[*position]].ty;
            matches!(ty, Type::Pointer(pointer) if pointer.is_const)
        };
        groups.iter_mut().for_each(|group| group.sort_by_key(is_const));
        groups
    }

    /// Whether two pointers are certainly into one array, so that their distance is that of their adjoints too.
    fn is_one_array(&self, left: &Expr, right: &Expr) -> bool {
        let (left_root, right_root) = (root(left), root(right));
        if without_spans(left_root) == without_spans(right_root) && matches!(left_root.kind, ExprKind::Load(_)) {
            return true;
        }
        let targets = self.objects.targets(left);
        targets.len() == 1
            && targets == self.objects.targets(right)
            && targets.iter().all(|object| self.is_single(object))
    }

    /// Whether an object is one array at all times.
    fn is_single(&self, object: &Object) -> bool {
        let Base::Local(owner) = object.base else { return false };
        if object.path != [Step::Deref] {
            return false;
        }
        self.function.params.contains(&owner) || allocations(&self.function.body, owner, false) == Some(1)
    }
}

/// How often memory is allocated for a variable; none if that is in a loop.
fn allocations(block: &Block, owner: LocalId, in_loop: bool) -> Option<usize> {
    let mut count = 0;
    for stmt in block {
        if let StmtKind::Runtime { call, into: Some(into), .. } = &stmt.kind
            && matches!(runtime_class(call), Some(RuntimeClass::Memory { .. }))
            && into.kind == PlaceKind::Local(owner)
        {
            if in_loop {
                return None;
            }
            count += 1;
        }
        let is_loop = in_loop || stmt.kind.is_loop();
        let inside = walk::stmt_parts(stmt, &mut |part| {
            if let walk::Part::Block(inner) = part {
                match allocations(inner, owner, is_loop) {
                    Some(more) => count += more,
                    None => return ControlFlow::Break(()),
                }
            }
            ControlFlow::Continue(())
        });
        if inside.is_break() {
            return None;
        }
    }
    Some(count)
}

/// What a kernel does through its parameters, by position.
struct Uses {
    written: BTreeSet<usize>,
    read: BTreeSet<usize>,
}

impl Uses {
    fn of(module: &Module, kernel: FunctionId) -> Uses {
        Uses { written: effects(module, kernel).params, read: reads_through(module, kernel) }
    }

    /// Whether two parameters that are parts of one array may reach the same elements, or the same adjoints.
    fn must_merge(&self, module: &Module, kernel: &Function, left: usize, right: usize) -> bool {
        let is_apart = |position: usize| {
            let ty = &kernel.locals[kernel.params[position]].ty;
            let is_restrict = matches!(ty, Type::Pointer(pointer) if pointer.is_restrict);
            is_restrict && self.written.contains(&position) && !self.read.contains(&position)
        };
        let is_written = [left, right].iter().any(|position| self.written.contains(position));
        let pointee = kernel.locals[kernel.params[left]].ty.pointee();
        let has_adjoints = pointee.is_some_and(|pointee| carries_floats(module, pointee));
        !is_apart(left) && !is_apart(right) && (is_written || has_adjoints)
    }
}

/// The kernel that takes each array once, and the distances of its parts.
fn merged(module: &Module, kernel: FunctionId, groups: &[Group]) -> Function {
    let mut function = module.functions[kernel].clone();
    let mut names = NewLocals::new(module, &function);
    let positions: Vec<String> = groups.iter().flatten().map(usize::to_string).collect();
    let wanted = format!("{}_overlap_{}", function.name, positions.join("_"));
    function.name = free_name(module, wanted);
    let mut start = Block::new();
    for group in groups {
        for position in group {
            let part = function.params[*position];
            let ty = function.locals[part].ty.unrestricted();
            retype(&mut function, part, &ty);
        }
        let array = function.params[group[0]];
        let array = Expr::load(Place::local(array, function.locals[array].ty.clone()));
        for position in &group[1..] {
            let part = function.params[*position];
            let wanted = format!("{}_at", function.locals[part].name);
            let at = names.add(&mut function, &wanted, Type::LONG);
            let value = Expr::binary(BinaryOp::Offset, array.clone(), Expr::load(Place::local(at, Type::LONG)));
            let ty = function.locals[part].ty.clone();
            start.push(declare(part, Some(if value.ty == ty { value } else { Expr::cast(value, ty) })));
            function.params[*position] = at;
        }
    }
    start.append(&mut function.body);
    function.body = start;
    params_first(&mut function);
    function
}

/// Gives a variable another type.
fn retype(function: &mut Function, local: LocalId, ty: &Type) {
    function.locals[local].ty = ty.clone();
    let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
        match node {
            NodeMut::Place(place) if place.kind == PlaceKind::Local(local) => place.ty = ty.clone(),
            NodeMut::Expr(Expr { kind: ExprKind::Load(place), ty: loaded, .. })
                if place.kind == PlaceKind::Local(local) =>
            {
                *loaded = ty.clone();
            }
            NodeMut::Place(_) | NodeMut::Expr(_) | NodeMut::Stmt(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

/// How many elements a pointer is after another: what is added to the variable that both are offsets of, or `to - from`.
fn distance(from: &Expr, to: &Expr) -> Expr {
    if let (Some(before), Some(after)) = (offset(from), offset(to))
        && without_spans(root(from)) == without_spans(root(to))
    {
        let after = after.unwrap_or_else(|| Expr::new(ExprKind::Int(0), Type::LONG));
        return match before {
            Some(before) => Expr::binary(BinaryOp::Subtract, after, before),
            None => after,
        };
    }
    Expr::binary(BinaryOp::Distance, to.unqualified().clone(), from.unqualified().clone())
}

/// The value that a pointer is an offset of.
pub(super) fn root(pointer: &Expr) -> &Expr {
    let pointer = pointer.uncast_pointer();
    if let ExprKind::Binary(BinaryOp::Offset, base, _) = &pointer.kind { root(base) } else { pointer }
}

/// What is added to the root of a pointer, as one `long`; none at all if another type is cast to on the way.
fn offset(pointer: &Expr) -> Option<Option<Expr>> {
    match &pointer.kind {
        ExprKind::Cast(operand) if operand.ty.pointee() == pointer.ty.pointee() => offset(operand),
        ExprKind::Cast(_) => None,
        ExprKind::Binary(BinaryOp::Offset, base, index) => {
            let index = match index.as_int() {
                Some(value) => Expr::new(ExprKind::Int(value), Type::LONG),
                None => Expr::cast((**index).clone(), Type::LONG),
            };
            Some(Some(match offset(base)? {
                Some(before) => Expr::binary(BinaryOp::Add, before, index),
                None => index,
            }))
        }
        ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => Some(None),
    }
}
