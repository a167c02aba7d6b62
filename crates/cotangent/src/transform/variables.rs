//! Variables outside functions as parameters, and back.
//!
//! A named variable has its derivative behind a parameter, as an array has. So it is made one while the derivative is
//! written: every function that uses the variable, itself or by what it calls, takes a pointer to it, and all that is
//! known about arrays of parameters holds for it. In what comes out the pointer is the variable again, and no function
//! takes it.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::differentiable::carries_float;
use super::normalize::collapse;
use super::request::{Named, Request};
use crate::diagnostic::{Diagnostic, RULE_CONFLICT};
use crate::index::{Id, IdVec};
use crate::ir::walk::{self, NodeMut};
use crate::ir::{
    Expr, ExprKind, Function, FunctionId, Global, GlobalId, Local, LocalId, Module, Name, Place, PlaceKind, RuleKind,
    StmtKind, Storage, Type, order,
};

/// A module whose named variables are parameters.
pub struct Lifted {
    /// The module; each function has its own parameters first, with the ids that they had.
    pub module: Module,
    /// The parameters that are named, in the order named: of the function itself, and those that stand for variables.
    pub wrt: Vec<LocalId>,
    /// The variables that are named, in the order of the parameters that stand for them.
    pub variables: Vec<GlobalId>,
}

/// Makes the named variables of a request parameters.
///
/// # Errors
/// Functions with derivatives of the user's that use such a variable.
pub fn lift(module: &Module, request: &Request) -> Result<Lifted, Vec<Diagnostic>> {
    let named = request.wrt.iter().filter_map(|named| match named {
        Named::Variable(variable) => Some(*variable),
        Named::Parameter(_) => None,
    });
    let variables: Vec<GlobalId> = named.collect();
    let used = used(module, request.function, &variables);
    check_rules(module, &used)?;
    let mut lifted = module.clone();
    let mut params: IdVec<FunctionId, HashMap<usize, LocalId>> = IdVec::new();
    for id in module.functions.ids() {
        let function = &mut lifted.functions[id];
        let own = add_params(module, function, &variables, &used[id]);
        let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
            match node {
                NodeMut::Stmt(stmt) => {
                    let (callee, args) = match &mut stmt.kind {
                        StmtKind::Call { function, args, .. } => (*function, args),
                        StmtKind::Launch(launch) => (launch.kernel, &mut launch.args),
                        _ => return ControlFlow::<()>::Continue(()),
                    };
                    args.extend(used[callee].iter().map(|number| pointer(module, variables[*number], own[number])));
                }
                NodeMut::Place(place) => to_pointer(module, &variables, &own, place),
                NodeMut::Expr(expr) => whole_to_pointer(module, &variables, &own, expr),
            }
            ControlFlow::Continue(())
        });
        params.push(own);
    }
    let of_variable = |variable: &GlobalId| {
        let number = variables.iter().position(|known| known == variable).unwrap_or(0);
        params[request.function][&number]
    };
    let wrt = request.wrt.iter().map(|named| match named {
        Named::Parameter(param) => *param,
        Named::Variable(variable) => of_variable(variable),
    });
    Ok(Lifted { wrt: wrt.collect(), module: lifted, variables })
}

impl Lifted {
    /// What was made of the lifted module, where parameters that stand for variables are these again.
    pub(super) fn restore(&self, module: &mut Module) {
        if self.variables.is_empty() {
            return;
        }
        let names = self.names();
        let number = |local: &Local| names.iter().position(|name| *name == local.name);
        let positions: IdVec<FunctionId, Vec<(usize, usize)>> = module
            .functions
            .iter()
            .map(|function| {
                let params = function.params.iter().enumerate();
                params.filter_map(|(at, param)| Some((at, number(&function.locals[*param])?))).collect()
            })
            .collect();
        for id in module.functions.ids() {
            let mut function = module.functions[id].clone();
            let own: HashMap<LocalId, GlobalId> =
                positions[id].iter().map(|(at, number)| (function.params[*at], self.variables[*number])).collect();
            function.params.retain(|param| !own.contains_key(param));
            let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
                match node {
                    NodeMut::Stmt(stmt) => {
                        if let Some(note) = &mut stmt.note {
                            *note = self.with_own_names(note).into();
                        }
                        match &mut stmt.kind {
                            StmtKind::Call { function, args, .. } => without(args, &positions[*function]),
                            StmtKind::Launch(launch) => without(&mut launch.args, &positions[launch.kernel]),
                            _ => {}
                        }
                    }
                    NodeMut::Place(place) if leads_to_variable(place) => collapse(place),
                    NodeMut::Place(_) => {}
                    NodeMut::Expr(expr) => to_variable(module, &own, expr),
                }
                ControlFlow::<()>::Continue(())
            });
            if !own.is_empty() {
                let locals = std::mem::take(&mut function.locals);
                function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
            }
            self.rename_locals(&mut function);
            module.functions[id] = function;
        }
    }

    /// What was found in the lifted module, in the program's words.
    pub(super) fn said(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        for diagnostic in &mut found {
            diagnostic.message = self.with_own_names(&diagnostic.message);
            diagnostic.label = self.with_own_names(&diagnostic.label);
            diagnostic.help = diagnostic.help.take().map(|help| self.with_own_names(&help));
        }
        found
    }

    /// The names of the parameters that stand for variables.
    fn names(&self) -> Vec<Name> {
        self.variables.iter().map(|variable| name_in(&self.module, *variable)).collect()
    }

    /// A text in which variables have their names instead of those of parameters.
    fn with_own_names(&self, text: &str) -> String {
        let is_part = |character: char| character.is_alphanumeric() || character == '_';
        let names = self.names();
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            let word = &rest[start..];
            let word = &word[..word.find(|character| !is_part(character)).unwrap_or(word.len())];
            let own = names.iter().position(|name| **name == *word).map(|at| &self.module.globals[self.variables[at]]);
            out += &rest[..start];
            out += own.map_or(word, |variable| last_component(&variable.name));
            rest = &rest[start + word.len()..];
        }
        out + rest
    }

    /// Takes the underscores of a parameter from the names of variables that were made for what it points to.
    fn rename_locals(&self, function: &mut Function) {
        let names = self.names();
        for id in function.locals.ids() {
            let name = function.locals[id].name.clone();
            let of_variable = |known: &&Name| name.strip_prefix(&***known).is_some_and(|rest| rest.starts_with('_'));
            if !names.iter().any(|known| of_variable(&known)) {
                continue;
            }
            let wanted = name.trim_start_matches('_');
            let is_taken = function.locals.iter().any(|local| *local.name == *wanted)
                || self.module.globals.iter().any(|variable| last_component(&variable.name) == wanted)
                || self.module.functions.iter().any(|other| last_component(&other.name) == wanted);
            if !is_taken {
                function.locals[id].name = wanted.into();
            }
        }
    }
}

/// Whether a place is reached by the address of a variable outside functions. Others keep the conversions that they have.
fn leads_to_variable(place: &Place) -> bool {
    fn is_variable(place: &Place) -> bool {
        match &place.kind {
            PlaceKind::Global(_) => true,
            PlaceKind::Field(base, _) | PlaceKind::Index(base, _) => is_variable(base),
            PlaceKind::Local(_) | PlaceKind::Element(..) => false,
        }
    }
    let PlaceKind::Element(pointer, _) = &place.kind else { return false };
    let mut pointer = pointer;
    while let ExprKind::Cast(operand) = &pointer.kind {
        pointer = operand;
    }
    matches!(&pointer.kind, ExprKind::AddressOf(target) if is_variable(target))
}

/// What the name of a derivative says about what is named: nothing if that is every parameter that can be and no
/// variable, else positions of parameters and names of variables.
pub(super) fn labels(module: &Module, function: &Function, named: &[LocalId]) -> Vec<String> {
    let is_variable = |param: &LocalId| variable_of(module, &function.locals[*param]).is_some();
    let mut can_be = function.params.iter().filter(|param| carries_float(module, &function.locals[**param].ty));
    if can_be.all(|param| named.contains(param)) && !named.iter().any(is_variable) {
        return Vec::new();
    }
    named.iter().map(|param| label(module, function, *param)).collect()
}

/// The position of a parameter, or the name of the variable that it stands for.
pub(super) fn label(module: &Module, function: &Function, param: LocalId) -> String {
    match variable_of(module, &function.locals[param]) {
        Some(variable) => last_component(&module.globals[variable].name).to_owned(),
        None => function.params.iter().position(|known| *known == param).unwrap_or(0).to_string(),
    }
}

fn last_component(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// The variable that a parameter of a lifted module stands for.
fn variable_of(module: &Module, local: &Local) -> Option<GlobalId> {
    let stands_for = |id: &GlobalId| module.globals[*id].span == local.span && name_in(module, *id) == local.name;
    module.globals.ids().find(stands_for)
}

/// Which of the variables each function uses, itself or by what it calls; the one that is asked for takes them all.
fn used(module: &Module, root: FunctionId, variables: &[GlobalId]) -> IdVec<FunctionId, BTreeSet<usize>> {
    let mut used: IdVec<FunctionId, BTreeSet<usize>> = IdVec::new();
    for (id, function) in module.functions.entries() {
        let mut own: BTreeSet<usize> = if id == root { (0..variables.len()).collect() } else { BTreeSet::new() };
        let _ = walk::visit_block(&function.body, &mut |node| {
            match node {
                walk::Node::Stmt(stmt) => match &stmt.kind {
                    StmtKind::Call { function, .. } => own.extend(used.get(*function).into_iter().flatten()),
                    StmtKind::Launch(launch) => own.extend(used.get(launch.kernel).into_iter().flatten()),
                    _ => {}
                },
                walk::Node::Place(Place { kind: PlaceKind::Global(global), .. }) => {
                    own.extend(variables.iter().position(|variable| variable == global));
                }
                walk::Node::Place(_) | walk::Node::Expr(_) => {}
            }
            ControlFlow::<()>::Continue(())
        });
        used.push(own);
    }
    used
}

/// What the user wrote for a function has no parameter for the derivative of a variable.
fn check_rules(module: &Module, used: &IdVec<FunctionId, BTreeSet<usize>>) -> Result<(), Vec<Diagnostic>> {
    let mut found = Vec::new();
    for rule in module.rules.iter().filter(|rule| rule.kind != RuleKind::Constant) {
        let about = [rule.function].into_iter().chain(rule.kind.functions());
        if let Some(id) = about.into_iter().find(|id| !used[*id].is_empty()) {
            let function = &module.functions[id];
            let message =
                format!("`{}` uses a variable that is named, and belongs to a derivative of yours", function.name);
            let label = "it has no parameter for the variable's derivative";
            let help = "pass the variable to it as an argument";
            found.push(Diagnostic::new(RULE_CONFLICT, rule.span, message, label).help(help));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The name of the parameter that stands for a variable: the variable's own behind underscores, so that nothing else has
/// it, and nothing that is made for functions gets another one.
fn name_in(module: &Module, variable: GlobalId) -> Name {
    let span = module.globals[variable].span;
    let is_taken = |name: &str| {
        let locals = module.functions.iter().flat_map(|function| function.locals.iter());
        let items = module.functions.iter().map(|item| &item.name).chain(module.records.iter().map(|item| &item.name));
        let mut items = items.chain(module.globals.iter().map(|item| &item.name));
        locals.into_iter().any(|local| &*local.name == name && local.span != span)
            || items.any(|item| last_component(item) == name)
    };
    let mut name = format!("_{}", last_component(&module.globals[variable].name));
    while is_taken(&name) {
        name.insert(0, '_');
    }
    name.into()
}

/// Gives a function a parameter for each variable that it uses.
fn add_params(
    module: &Module,
    function: &mut Function,
    variables: &[GlobalId],
    used: &BTreeSet<usize>,
) -> HashMap<usize, LocalId> {
    if used.is_empty() {
        return HashMap::new();
    }
    let first = function.params.len();
    for number in used {
        let variable = &module.globals[variables[*number]];
        let name = name_in(module, variables[*number]);
        let ty = Type::pointer(element(variable).clone());
        let local = Local { name, ty, storage: Storage::Private, span: variable.span };
        let param = function.locals.push(local);
        function.params.push(param);
    }
    let locals = std::mem::take(&mut function.locals);
    function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
    used.iter().enumerate().map(|(index, number)| (*number, LocalId::new(first + index))).collect()
}

/// What the pointer to a variable points to: of an array, its elements.
fn element(variable: &Global) -> &Type {
    match &variable.ty {
        Type::Array(element, _) => element,
        whole => whole,
    }
}

fn pointer(module: &Module, variable: GlobalId, param: LocalId) -> Expr {
    Expr::load(Place::local(param, Type::pointer(element(&module.globals[variable]).clone())))
}

/// The parameter for a variable.
fn param_of(variables: &[GlobalId], own: &HashMap<usize, LocalId>, variable: GlobalId) -> Option<LocalId> {
    own.get(&variables.iter().position(|known| *known == variable)?).copied()
}

/// Replaces a variable, or an element of it, by what the parameter points to.
fn to_pointer(module: &Module, variables: &[GlobalId], own: &HashMap<usize, LocalId>, place: &mut Place) {
    let span = place.span;
    let (variable, index) = match &place.kind {
        PlaceKind::Global(variable) if !matches!(module.globals[*variable].ty, Type::Array(..)) => {
            (*variable, Expr::int(0))
        }
        PlaceKind::Index(base, index) => match base.kind {
            PlaceKind::Global(variable) => (variable, (**index).clone()),
            PlaceKind::Local(_) | PlaceKind::Element(..) | PlaceKind::Field(..) | PlaceKind::Index(..) => return,
        },
        PlaceKind::Global(_) | PlaceKind::Local(_) | PlaceKind::Element(..) | PlaceKind::Field(..) => return,
    };
    if let Some(param) = param_of(variables, own, variable) {
        *place = Place::element(pointer(module, variable, param), index).at(span);
    }
}

/// Replaces the address of a whole array by the parameter, as a pointer of another type.
fn whole_to_pointer(module: &Module, variables: &[GlobalId], own: &HashMap<usize, LocalId>, expr: &mut Expr) {
    if let ExprKind::AddressOf(Place { kind: PlaceKind::Global(variable), .. }) = &expr.kind
        && let Some(param) = param_of(variables, own, *variable)
    {
        let pointer = pointer(module, *variable, param);
        *expr = Expr::new(ExprKind::Cast(Box::new(pointer)), expr.ty.clone()).at(expr.span);
    }
}

/// Replaces a pointer that stands for a variable by the variable's address.
fn to_variable(module: &Module, own: &HashMap<LocalId, GlobalId>, expr: &mut Expr) {
    let whole = |variable: GlobalId| Place::new(PlaceKind::Global(variable), module.globals[variable].ty.clone());
    match &expr.kind {
        ExprKind::Load(Place { kind: PlaceKind::Local(local), .. }) => {
            let Some(variable) = own.get(local) else { return };
            let place = match whole(*variable) {
                array @ Place { ty: Type::Array(..), .. } => array.index(Expr::int(0)),
                other => other,
            };
            *expr = Expr::new(ExprKind::AddressOf(place), expr.ty.clone()).at(expr.span);
        }
        // The address of a whole array, as it was.
        ExprKind::Cast(operand) => {
            let ExprKind::AddressOf(Place { kind: PlaceKind::Index(base, _), .. }) = &operand.kind else { return };
            if matches!(base.kind, PlaceKind::Global(variable) if own.values().any(|known| *known == variable))
                && expr.ty.pointee() == Some(&base.ty)
            {
                *expr = Expr::new(ExprKind::AddressOf((**base).clone()), expr.ty.clone()).at(expr.span);
            }
        }
        _ => {}
    }
}

/// Leaves out the arguments at some positions.
fn without(args: &mut Vec<Expr>, positions: &[(usize, usize)]) {
    let mut at = 0;
    args.retain(|_| {
        at += 1;
        !positions.iter().any(|(position, _)| *position == at - 1)
    });
}
