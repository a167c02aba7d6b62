//! Pointers to `void` that are only ever given pointers to one type point to that type.
//!
//! What a `void*` points to has no derivative, since nothing says what it is. A device function that takes one, or a variable
//! that is one, is often a way from `float*` to `float*`. So both modes begin with a module in which such variables have the
//! type of what they are given. What is given pointers of several types, or anything but a pointer, keeps its type.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;

use crate::ir::walk::{self, Node, NodeMut};
use crate::ir::{
    Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, Space, StmtKind, Storage, Type,
};

/// A variable of a function.
type Variable = (FunctionId, LocalId);

/// What the pointers point to that a variable is given.
#[derive(Clone, PartialEq)]
enum Given {
    Nothing,
    Type(Type),
    Several,
}

/// A module whose pointers to `void` have types where these are known. The function that is asked for stays as it is called.
pub(super) fn typed_pointers(module: &Module, requested: FunctionId) -> Module {
    let mut typed = module.clone();
    let known = known(module, requested);
    for (id, function) in module.functions.entries().filter(|(_, function)| function.space != Space::Host) {
        let function = retyped(id, function, &known, module);
        typed.functions.set(id, function);
    }
    typed
}

/// The types that variables have instead of `void*`.
fn known(module: &Module, requested: FunctionId) -> BTreeMap<Variable, Type> {
    let mut given = candidates(module, requested);
    // Each round can only add what is given, of which there are three stages.
    loop {
        let before = given.clone();
        for (id, function) in module.functions.entries() {
            note_given(module, id, function, &mut given);
        }
        if given == before {
            break;
        }
    }
    let typed = given.into_iter().filter_map(|((id, local), given)| match given {
        Given::Type(pointee) => {
            let mut ty = module.functions[id].locals[local].ty.clone();
            if let Type::Pointer(pointer) = &mut ty {
                pointer.pointee = pointee;
            }
            Some(((id, local), ty))
        }
        Given::Nothing | Given::Several => None,
    });
    typed.collect()
}

/// Pointers to `void` in device code: variables, and parameters of functions that nobody but the module calls.
fn candidates(module: &Module, requested: FunctionId) -> BTreeMap<Variable, Given> {
    let ruled: HashSet<FunctionId> =
        module.rules.iter().flat_map(|rule| rule.kind.functions().into_iter().chain([rule.function])).collect();
    let mut found = BTreeMap::new();
    for (id, function) in module.functions.entries().filter(|(_, function)| function.space != Space::Host) {
        let is_called_here = function.space == Space::Device && id != requested && !ruled.contains(&id);
        for (local, variable) in function.locals.entries() {
            let is_free = is_called_here || !function.params.contains(&local);
            if is_free && variable.storage == Storage::Private && is_void_pointer(&variable.ty) {
                found.insert((id, local), Given::Nothing);
            }
        }
    }
    found
}

fn is_void_pointer(ty: &Type) -> bool {
    !ty.is_reference() && ty.pointee() == Some(&Type::Void)
}

/// Adds what the statements of a function give to variables.
fn note_given(module: &Module, id: FunctionId, function: &Function, given: &mut BTreeMap<Variable, Given>) {
    let _ = walk::visit_block(&function.body, &mut |node| {
        match node {
            Node::Stmt(stmt) => {
                if let StmtKind::Declare { local, init: Some(value) } = &stmt.kind {
                    give(given, (id, *local), id, value);
                } else if let StmtKind::Assign { place, value } = &stmt.kind {
                    as_local(place).into_iter().for_each(|local| give(given, (id, local), id, value));
                } else {
                    let written = walk::written_places(stmt).into_iter().filter_map(as_local);
                    written.for_each(|local| spoil(given, (id, local)));
                }
                if let Some(called) = stmt.called() {
                    for (param, arg) in module.functions[called.function].params.iter().zip(called.args) {
                        give(given, (called.function, *param), id, arg);
                    }
                }
            }
            // Who has its address may store any pointer there.
            Node::Expr(Expr { kind: ExprKind::AddressOf(place), .. }) => {
                as_local(place).into_iter().for_each(|local| spoil(given, (id, local)));
            }
            Node::Expr(_) | Node::Place(_) => {}
        }
        ControlFlow::<()>::Continue(())
    });
}

fn as_local(place: &Place) -> Option<LocalId> {
    match place.kind {
        PlaceKind::Local(local) => Some(local),
        PlaceKind::Global(_) | PlaceKind::Field(..) | PlaceKind::Index(..) | PlaceKind::Element(..) => None,
    }
}

fn spoil(given: &mut BTreeMap<Variable, Given>, variable: Variable) {
    given.entry(variable).and_modify(|known| *known = Given::Several);
}

/// Adds what a value of the function `id` is to what a variable is given.
fn give(given: &mut BTreeMap<Variable, Given>, variable: Variable, id: FunctionId, value: &Expr) {
    if !given.contains_key(&variable) {
        return;
    }
    let operand = if let ExprKind::Cast(operand) = &value.kind { operand } else { value };
    let new = match operand.ty.pointee() {
        Some(pointee) if *pointee != Type::Void => Given::Type(pointee.clone()),
        _ if operand.kind == ExprKind::Null => Given::Nothing,
        _ => handed_on(given, id, operand),
    };
    let known = given.entry(variable).or_insert(Given::Nothing);
    *known = match (&*known, new) {
        (known, Given::Nothing) => known.clone(),
        (Given::Nothing, new) => new,
        (Given::Type(one), Given::Type(other)) if *one == other => Given::Type(other),
        (Given::Type(_) | Given::Several, _) => Given::Several,
    };
}

/// What is known of a pointer to `void` that is handed on.
fn handed_on(given: &BTreeMap<Variable, Given>, id: FunctionId, value: &Expr) -> Given {
    let source = value.as_load().and_then(as_local).and_then(|local| given.get(&(id, local)));
    source.cloned().unwrap_or(Given::Several)
}

/// A function whose variables have the types that are known.
fn retyped(id: FunctionId, function: &Function, known: &BTreeMap<Variable, Type>, module: &Module) -> Function {
    let mut function = function.clone();
    for ((_, local), ty) in known.iter().filter(|((of, _), _)| *of == id) {
        function.locals[*local].ty = ty.clone();
    }
    let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
        if let NodeMut::Expr(expr) = node {
            retype(expr, id, known);
        }
        ControlFlow::<()>::Continue(())
    });
    // What is given comes last: by now each value says what it was before it was a `void*`.
    let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
        if let NodeMut::Stmt(stmt) = node {
            if let Some((callee, args)) = stmt.called_mut() {
                for (param, arg) in module.functions[*callee].params.iter().zip(args) {
                    fit(arg, known.get(&(*callee, *param)));
                }
            }
            if let StmtKind::Declare { local, init: Some(value) } = &mut stmt.kind {
                fit(value, known.get(&(id, *local)));
            } else if let StmtKind::Assign { place, value } = &mut stmt.kind
                && let Some(ty) = as_local(place).and_then(|local| known.get(&(id, local)))
            {
                fit(value, Some(ty));
                place.ty = ty.clone();
            }
        }
        ControlFlow::<()>::Continue(())
    });
    function
}

/// A load of such a variable becomes one of its type, seen as `void*`; a conversion of that is one of what it was.
fn retype(expr: &mut Expr, id: FunctionId, known: &BTreeMap<Variable, Type>) {
    if let ExprKind::Load(place) = &mut expr.kind
        && let Some(ty) = as_local(place).and_then(|local| known.get(&(id, local)))
    {
        place.ty = ty.clone();
        let seen_as = std::mem::replace(&mut expr.ty, ty.clone());
        *expr = Expr::cast(expr.clone(), seen_as);
    } else if let ExprKind::Cast(operand) = &expr.kind
        && let Some(inner) = before_void(operand).filter(|_| expr.ty.is_pointer())
    {
        *expr = to(inner.clone(), &expr.ty);
    }
}

/// The pointer that is seen as `void*`.
fn before_void(expr: &Expr) -> Option<&Expr> {
    let ExprKind::Cast(inner) = &expr.kind else { return None };
    (is_void_pointer(&expr.ty) && inner.ty.is_pointer()).then_some(inner)
}

fn fit(value: &mut Expr, ty: Option<&Type>) {
    let Some(ty) = ty else { return };
    let inner = before_void(value).cloned().unwrap_or_else(|| value.clone());
    let is_null = inner.kind == ExprKind::Null;
    *value = if is_null { Expr::new(ExprKind::Null, ty.clone()).at(inner.span) } else { to(inner, ty) };
}

fn to(pointer: Expr, ty: &Type) -> Expr {
    if pointer.ty.unrestricted() == ty.unrestricted() { pointer } else { Expr::cast(pointer, ty.clone()) }
}
