//! Puts the bodies of called functions in the place of calls where a pullback of its own could not see what it needs.
//!
//! A call stays a call if the function is pure and what it reads will still be there when the reverse sweep comes by: it
//! then gets a pullback. A function that writes through its arguments, or reads memory that the caller changes, is
//! merged into its caller, where each value is looked after by itself. References to variables are replaced by the
//! variables, so that an operator or a member function leaves no trace of the call. A function with a rule of the user's
//! stays a call whatever it does.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::super::locals::{NewLocals, assign, declare, rename};
use super::addresses::address_taken;
use crate::analysis::{self, Base, Object};
use crate::index::IdVec;
use crate::ir::walk::{self, NodeMut, PartMut};
use crate::ir::{
    BinaryOp, Block, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, Stmt, StmtKind, Storage,
    Type,
};

/// What is known about the functions that were looked at.
#[derive(Clone)]
pub(in crate::transform) struct Inlining {
    /// Whether each is pure; callees come before callers.
    is_pure: IdVec<FunctionId, bool>,
    /// Functions that must not be called.
    inlined: HashSet<FunctionId>,
}

impl Inlining {
    /// Nothing is known yet; calls of these functions will be inlined.
    pub(in crate::transform) fn new(inlined: HashSet<FunctionId>) -> Inlining {
        Inlining { is_pure: IdVec::new(), inlined }
    }

    /// Whether a function that was looked at is pure.
    pub(super) fn is_pure(&self, function: FunctionId) -> bool {
        self.is_pure.get(function).copied().unwrap_or(false)
    }
}

/// Inlines what must be inlined into the next function of the module, whose callees have been through this already.
pub(in crate::transform) fn inline_calls(module: &Module, known: &mut Inlining, function: &mut Function) {
    // Bodies that write: they bring in no calls of such functions, as callees are done already.
    let is_pure = |id: FunctionId| known.is_pure(id);
    let has_rule = |id: FunctionId| module.rule(id).is_some();
    splice(module, function, &|_, callee, _| {
        !has_rule(callee) && (!is_pure(callee) || known.inlined.contains(&callee))
    });
    // A body may bring in calls that are unstable here, though not where they stood. It ends: calls go to earlier functions.
    loop {
        let unstable = unstable_calls(module, function, &has_rule);
        if unstable.is_empty() {
            break;
        }
        splice(module, function, &|number, _, _| unstable.contains(&number));
    }
    let pure = analysis::is_pure(module, function, &is_pure);
    known.is_pure.push(pure);
}

/// Inlines the calls of some functions, which have one exit.
pub(in crate::transform) fn inline_these(module: &Module, function: &mut Function, these: &HashSet<FunctionId>) {
    splice(module, function, &|_, callee, _| these.contains(&callee));
}

/// The calls, counted in the order of the text, that read memory which this function may write, but for functions that stay
/// calls whatever they do.
fn unstable_calls(module: &Module, function: &Function, stays: &dyn Fn(FunctionId) -> bool) -> HashSet<usize> {
    let objects = analysis::objects(module, function);
    let written = analysis::written(&objects, &function.body);
    let addressed = address_taken(function);
    let mut number = 0;
    let mut found = HashSet::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        let StmtKind::Call { into, function: callee, args } = &stmt.kind else { return };
        let variables = analysis::variables_of(module, *callee);
        let is_variable = |object: &Object| match object.base {
            Base::Global(global) => variables.contains(&global),
            Base::Unknown => !variables.is_empty(),
            Base::Local(_) | Base::Unread => false,
        };
        let reads = args.iter().flat_map(|arg| objects.reachable(arg));
        // Adjoints of a record that leads to memory would be partly the thread's own, partly not.
        let leads_on = |ty: &Type| points_to_pointers(module, ty) || is_record_of_pointers(module, ty);
        // What the pointers of a result point to is seen in the body alone.
        let is_unstable = args.iter().any(|arg| leads_on(&arg.ty))
            || written.iter().any(is_variable)
            || into.as_ref().is_some_and(|into| into.ty.is_pointer() || leads_on(&into.ty))
            || reads.into_iter().any(|object| match object.as_local() {
                // A variable that is copied as a whole can be kept; an array cannot, nor what changes by another name.
                Some(local) => {
                    matches!(function.locals[local].ty, Type::Array(..))
                        || addressed.contains(&local) && written.contains(&object)
                }
                None => object.overlaps_any(&written),
            });
        if is_unstable && !stays(*callee) {
            found.insert(number);
        }
        number += 1;
    });
    found
}

fn is_record_of_pointers(module: &Module, ty: &Type) -> bool {
    matches!(ty, Type::Record(_)) && analysis::uses_memory(module, ty)
}

/// Whether a pointer leads to pointers, in a record or alone. The adjoint of what is behind those is not behind the
/// pointer's own adjoint: a pointer variable has an adjoint pointer beside it, and no adjoint.
pub(super) fn points_to_pointers(module: &Module, ty: &Type) -> bool {
    match ty.pointee() {
        Some(Type::Pointer(_)) => true,
        Some(Type::Array(element, _)) => analysis::uses_memory(module, element),
        Some(pointee) => is_record_of_pointers(module, pointee),
        None => false,
    }
}

type Choice<'a> = dyn Fn(usize, FunctionId, &[Expr]) -> bool + 'a;

fn splice(module: &Module, function: &mut Function, choice: &Choice<'_>) {
    let settled = settled_locals(function);
    let mut names = NewLocals::new(module, function);
    let body = std::mem::take(&mut function.body);
    let mut splicing = Splicing { module, settled, choice, number: 0, shared: HashMap::new() };
    let body = splicing.block(function, &mut names, body);
    function.body = body;
}

struct Splicing<'a> {
    module: &'a Module,
    /// Variables of the function that keep their first value.
    settled: HashSet<LocalId>,
    choice: &'a Choice<'a>,
    number: usize,
    /// The shared memory of functions that were inlined: all calls of a function use one.
    shared: HashMap<(FunctionId, LocalId), LocalId>,
}

impl Splicing<'_> {
    fn block(&mut self, function: &mut Function, names: &mut NewLocals, block: Block) -> Block {
        let mut out = Block::new();
        for mut stmt in block {
            if let StmtKind::Call { into, function: callee, args } = &stmt.kind {
                let is_chosen = (self.choice)(self.number, *callee, args);
                self.number += 1;
                if is_chosen {
                    let body = &self.module.functions[*callee];
                    let moved = self.moved_locals(function, names, *callee);
                    let call = (into.clone(), body, args.clone());
                    out.extend(body_of_call(function, names, (&self.settled, moved), call));
                    continue;
                }
            }
            let _ = walk::stmt_parts_mut(&mut stmt, &mut |part| {
                if let PartMut::Block(inner) = part {
                    *inner = self.block(function, names, std::mem::take(inner));
                }
                ControlFlow::<()>::Continue(())
            });
            out.push(stmt);
        }
        out
    }
}

impl Splicing<'_> {
    /// The variables of a callee as variables of its caller.
    fn moved_locals(
        &mut self,
        function: &mut Function,
        names: &mut NewLocals,
        callee: FunctionId,
    ) -> HashMap<LocalId, LocalId> {
        let mut moved = HashMap::new();
        for (id, local) in self.module.functions[callee].locals.entries() {
            let is_shared = local.storage != Storage::Private;
            let known = self.shared.get(&(callee, id)).copied().filter(|_| is_shared);
            let new = known.unwrap_or_else(|| {
                let name = names.name(&local.name);
                function.locals.push(crate::ir::Local { name, ..local.clone() })
            });
            if is_shared {
                self.shared.insert((callee, id), new);
            }
            moved.insert(id, new);
        }
        moved
    }
}

/// The statements of a call: parameters as variables, the body, the result.
fn body_of_call(
    function: &mut Function,
    names: &mut NewLocals,
    (settled, moved): (&HashSet<LocalId>, HashMap<LocalId, LocalId>),
    (into, callee, args): (Option<Place>, &Function, Vec<Expr>),
) -> Block {
    let mut out = Block::new();
    let assigned = walk::assigned_locals(&callee.body);
    let mut values: HashMap<LocalId, Expr> = HashMap::new();
    for (param, arg) in callee.params.iter().zip(args) {
        let arg = without_qualification(arg);
        let is_assigned = assigned.contains(param);
        if !is_assigned && let Some(place) = arg.as_address() {
            let frozen = freeze(function, names, place.clone(), settled, &mut out);
            values.insert(moved[param], Expr::new(ExprKind::AddressOf(frozen), arg.ty));
        } else if !is_assigned && is_settled(&arg, settled) {
            values.insert(moved[param], arg);
        } else {
            let local = moved[param];
            let ty = function.locals[local].ty.clone();
            out.push(declare(local, Some(typed(arg, ty))));
        }
    }
    let mut body = callee.body.clone();
    rename(&mut body, &moved);
    let result = match body.last() {
        Some(Stmt { kind: StmtKind::Return(_), .. }) => match body.pop() {
            Some(Stmt { kind: StmtKind::Return(value), .. }) => value,
            _ => None,
        },
        _ => None,
    };
    if let (Some(into), Some(value)) = (into, result) {
        body.push(assign(into, value));
    }
    substitute(&mut body, &values);
    out.extend(body);
    out
}

/// A pointer without a conversion that only adds `const`: the callee writes nothing through it anyway.
pub(super) fn without_qualification(arg: Expr) -> Expr {
    match arg.as_cast() {
        Some(operand) if operand.ty.is_pointer() && operand.ty.pointee() == arg.ty.pointee() => {
            typed(without_qualification(operand.clone()), arg.ty.clone())
        }
        Some(_) | None => arg,
    }
}

/// A value of another type that differs in what a pointer promises. An address promises what one wants; what a variable
/// holds, and what is computed from it, has the variable's type.
fn typed(value: Expr, ty: Type) -> Expr {
    match (&value.kind, &value.ty, &ty) {
        (ExprKind::AddressOf(_) | ExprKind::Null, _, _) => Expr { ty, ..value },
        (_, Type::Pointer(own), Type::Pointer(wanted)) if own.is_const != wanted.is_const => Expr::cast(value, ty),
        _ => Expr { ty, ..value },
    }
}

/// Variables that keep their first value.
pub(super) fn settled_locals(function: &Function) -> HashSet<LocalId> {
    let assigned = walk::assigned_locals(&function.body);
    let mut settled: HashSet<LocalId> = function.params.iter().copied().collect();
    walk::each_stmt(&function.body, &mut |stmt| settled.extend(stmt.begun_local()));
    settled.retain(|local| !assigned.contains(local));
    settled
}

/// Whether an expression has the same value wherever it can be evaluated, and costs nothing.
fn is_settled(expr: &Expr, settled: &HashSet<LocalId>) -> bool {
    match &expr.kind {
        ExprKind::Bool(_) | ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Null => true,
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => settled.contains(local),
        ExprKind::Load(_)
        | ExprKind::AddressOf(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Cast(_)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_) => false,
    }
}

/// The same place, with its indices and pointers kept in variables where they might change.
pub(super) fn freeze(
    function: &mut Function,
    names: &mut NewLocals,
    place: Place,
    settled: &HashSet<LocalId>,
    out: &mut Block,
) -> Place {
    let span = place.span;
    let kind = match place.kind {
        PlaceKind::Local(_) | PlaceKind::Global(_) => place.kind,
        PlaceKind::Field(base, position) => {
            PlaceKind::Field(Box::new(freeze(function, names, *base, settled, out)), position)
        }
        PlaceKind::Index(base, index) => {
            let base = freeze(function, names, *base, settled, out);
            PlaceKind::Index(Box::new(base), Box::new(freeze_value(function, names, *index, settled, out)))
        }
        PlaceKind::Element(pointer, index) => {
            let pointer = freeze_value(function, names, *pointer, settled, out);
            PlaceKind::Element(Box::new(pointer), Box::new(freeze_value(function, names, *index, settled, out)))
        }
    };
    Place { kind, ty: place.ty, span }
}

fn freeze_value(
    function: &mut Function,
    names: &mut NewLocals,
    value: Expr,
    settled: &HashSet<LocalId>,
    out: &mut Block,
) -> Expr {
    if is_settled(&value, settled) {
        return value;
    }
    let wanted = if value.ty.is_pointer() { "_p" } else { "_i" };
    let ty = value.ty.clone();
    let local = names.add(function, wanted, ty.clone());
    out.push(declare(local, Some(value)));
    Expr::load(Place::local(local, ty))
}

/// Replaces loads of parameters by their arguments, and what a reference refers to by the variable.
pub(super) fn substitute(body: &mut Block, values: &HashMap<LocalId, Expr>) {
    let _ = walk::visit_block_mut(body, &mut |node| substitute_node(node, values));
}

/// The same in one expression.
pub(super) fn substitute_in(expr: &mut Expr, values: &HashMap<LocalId, Expr>) {
    let _ = walk::visit_expr_mut(expr, &mut |node| substitute_node(node, values));
}

fn substitute_node(node: NodeMut<'_>, values: &HashMap<LocalId, Expr>) -> ControlFlow<()> {
    match node {
        NodeMut::Expr(expr) => {
            if let ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) = &expr.kind
                && let Some(value) = values.get(local)
            {
                *expr = typed(value.clone(), expr.ty.clone()).at(expr.span);
            }
        }
        NodeMut::Place(place) => {
            // A part of a record that is passed by value.
            if let PlaceKind::Local(local) = &place.kind
                && let Some(Expr { kind: ExprKind::Load(source), .. }) = values.get(local)
            {
                *place = source.clone().at(place.span);
            }
            collapse(place);
        }
        NodeMut::Stmt(_) => {}
    }
    ControlFlow::Continue(())
}

/// `*&place` is `place`, and `(&array[i])[j]` is `array[i + j]`. Not through a pointer to `volatile`: the place would no
/// longer say so, and with it would go the order in which threads see it.
pub(in crate::transform) fn collapse(place: &mut Place) {
    let PlaceKind::Element(pointer, index) = &mut place.kind else { return };
    if let ExprKind::Cast(operand) = &pointer.kind
        && operand.ty.pointee().is_some_and(|pointee| *pointee == place.ty)
    {
        if let ExprKind::AddressOf(_) = operand.kind {
            **pointer = Expr { ty: pointer.ty.clone(), ..(**operand).clone() };
        } else if promises_no_more(&operand.ty, &pointer.ty) {
            **pointer = (**operand).clone();
        }
    }
    let ExprKind::AddressOf(target) = &pointer.kind else { return };
    if target.ty != place.ty || matches!(&pointer.ty, Type::Pointer(pointer) if pointer.is_volatile) {
        return;
    }
    if index.is_zero() {
        let span = place.span;
        *place = target.clone().at(span);
        return;
    }
    let PlaceKind::Index(array, start) = &target.kind else { return };
    let sum = if start.is_zero() {
        (**index).clone()
    } else {
        let long = |expr: &Expr| Expr::cast(expr.clone(), Type::LONG);
        if start.ty == index.ty {
            Expr::binary(BinaryOp::Add, (**start).clone(), (**index).clone())
        } else {
            Expr::binary(BinaryOp::Add, long(start), long(index))
        }
    };
    *place = (**array).clone().index(sum).at(place.span);
}

/// Whether all that may be done through a pointer of the one type may be done through one of the other, in the same order.
fn promises_no_more(ty: &Type, other: &Type) -> bool {
    let (Type::Pointer(ty), Type::Pointer(other)) = (ty, other) else { return false };
    ty.is_volatile == other.is_volatile && (!ty.is_const || other.is_const)
}
