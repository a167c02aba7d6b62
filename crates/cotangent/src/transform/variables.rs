//! Variables outside functions as parameters, and back.
//!
//! A named variable has its derivative behind a parameter, as an array has. So it is made one while the derivative is
//! written: every function that uses the variable, itself or by what it calls, takes a pointer to it, and all that is
//! known about arrays of parameters holds for it. In what comes out the pointer is the variable again, and no function
//! takes it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use super::carried_bits::carried_bits;
use super::differentiable::leads_to_floats;
use super::normalize::collapse;
use super::nulls::known_nulls;
use super::request::{Named, Request};
use super::typed_pointers::typed_pointers;
use crate::diagnostic::{CANNOT_RECORD, Diagnostic, RULE_CONFLICT};
use crate::index::{Id, IdVec};
use crate::ir::walk::{self, NodeMut};
use crate::ir::{
    BinaryOp, Expr, ExprKind, Function, FunctionId, Global, GlobalId, Local, LocalId, Module, Name, Place, PlaceKind,
    RuleKind, Space, StmtKind, Storage, Type, order,
};
use crate::rules::{COPY_KIND, RuntimeClass, Symbol, runtime_class};

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
    let known = known_nulls(module, request.function);
    let mut lifted = typed_pointers(&carried_bits(&known, request.function), request.function);
    let mut params: IdVec<FunctionId, HashMap<usize, LocalId>> = IdVec::new();
    // Where no variable is named, the functions stay as they are, and are not copied.
    for id in module.functions.ids().filter(|_| !variables.is_empty()) {
        let function = &mut lifted.functions[id];
        let own = add_params(module, function, &variables, &used[id]);
        let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
            match node {
                NodeMut::Stmt(stmt) => {
                    let Some((callee, args)) = stmt.called_mut() else { return ControlFlow::<()>::Continue(()) };
                    args.extend(used[*callee].iter().map(|number| pointer(module, variables[*number], own[number])));
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
    ///
    /// # Errors
    /// Host code that would need the address of a variable.
    pub(super) fn restore(&self, module: &mut Module) -> Result<(), Vec<Diagnostic>> {
        let mut found = Vec::new();
        if self.variables.is_empty() {
            return Ok(());
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
            let own: BTreeMap<LocalId, GlobalId> =
                positions[id].iter().map(|(at, number)| (function.params[*at], self.variables[*number])).collect();
            function.params.retain(|param| !own.contains_key(param));
            let is_new = id.index() >= self.module.functions.len();
            let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
                match node {
                    NodeMut::Stmt(stmt) => {
                        if let Some(note) = &mut stmt.note {
                            *note = self.with_own_names(note).into();
                        }
                        if let Some((function, args)) = stmt.called_mut() {
                            without(args, &positions[*function]);
                        }
                    }
                    NodeMut::Place(_) | NodeMut::Expr(_) => {}
                }
                ControlFlow::<()>::Continue(())
            });
            if is_new && function.space == Space::Host {
                found.extend(kept_on_host(module, &function, &own));
            }
            let _ = walk::visit_block_mut(&mut function.body, &mut |node| {
                match node {
                    NodeMut::Stmt(_) => {}
                    NodeMut::Place(place) if is_in_variable(&own, place) => collapse(place),
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
            module.functions.set(id, function);
        }
        if found.is_empty() { Ok(()) } else { Err(found) }
    }

    /// The name of what is named: of a parameter, or of the variable that it stands for.
    pub fn name_of(&self, function: FunctionId, param: LocalId) -> String {
        self.with_own_names(self.module.functions[function].local_name(param))
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

/// Host code that uses the address of a variable, other than to copy to and from it: there the variable has none.
fn kept_on_host(module: &Module, function: &Function, own: &BTreeMap<LocalId, GlobalId>) -> Vec<Diagnostic> {
    let mut found: Vec<Diagnostic> = Vec::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        if matches!(&stmt.kind, StmtKind::Runtime { call, .. } if matches!(runtime_class(call), Some(RuntimeClass::Symbol(_))))
        {
            return;
        }
        for (local, variable) in own {
            let is_used = walk::stmt_parts(stmt, &mut |part| match part {
                walk::Part::Expr(expr) if walk::expr_mentions(expr, *local) => ControlFlow::Break(()),
                walk::Part::Place(place) if walk::expr_mentions(&Expr::load(place.clone()), *local) => {
                    ControlFlow::Break(())
                }
                walk::Part::Expr(_) | walk::Part::Place(_) | walk::Part::Block(_) => ControlFlow::Continue(()),
            });
            if is_used.is_break() {
                let variable = &module.globals[*variable];
                let message = format!("what `{}` holds changes between launches, and must be kept", variable.name);
                let label = "the host can keep arrays that it has a pointer to";
                let help = "pass an array to the kernels as an argument instead";
                let kept = Diagnostic::new(CANNOT_RECORD, variable.span, message, label).help(help);
                if !found.contains(&kept) {
                    found.push(kept);
                }
            }
        }
    });
    found
}

/// What the name of a derivative says about what is named: nothing if that is every parameter that can be and no
/// variable, else positions of parameters and names of variables.
pub(super) fn labels(module: &Module, function: &Function, named: &[LocalId]) -> Vec<String> {
    let is_variable = |param: &LocalId| variable_of(module, &function.locals[*param]).is_some();
    let can_be = function.params.iter().filter(|param| leads_to_floats(module, &function.locals[**param].ty));
    let can_be: Vec<&LocalId> = can_be.collect();
    let is_all = can_be.len() == named.len() && can_be.iter().all(|param| named.contains(param));
    if is_all && !named.iter().any(is_variable) {
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
                walk::Node::Stmt(stmt) => {
                    let called = stmt.called().and_then(|called| used.get(called.function));
                    own.extend(called.into_iter().flatten());
                }
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

/// The name of the parameter that stands for a variable: the variable's own after underscores, so that nothing else has
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
        let local = Local { name, ty, storage: Storage::Private, align: None, span: variable.span };
        let param = function.locals.push(local);
        function.params.push(param);
    }
    let locals = std::mem::take(&mut function.locals);
    function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
    used.iter().enumerate().map(|(index, number)| (*number, LocalId::new(first + index))).collect()
}

/// What the pointer to a variable points to: of an array, its elements.
fn element(variable: &Global) -> &Type {
    if let Type::Array(element, _) = &variable.ty { element } else { &variable.ty }
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

/// Whether a place is reached by a pointer that is a variable's address.
fn is_in_variable(own: &BTreeMap<LocalId, GlobalId>, place: &Place) -> bool {
    let PlaceKind::Element(pointer, _) = &place.kind else { return false };
    let Some(target) = pointer.uncast_pointer().as_address() else { return false };
    let variable = if let PlaceKind::Index(base, _) = &target.kind { &base.kind } else { &target.kind };
    matches!(variable, PlaceKind::Global(variable) if own.values().any(|known| known == variable))
}

/// Replaces a pointer that stands for a variable by the variable's address.
fn to_variable(module: &Module, own: &BTreeMap<LocalId, GlobalId>, expr: &mut Expr) {
    let whole = |variable: GlobalId| Place::new(PlaceKind::Global(variable), module.globals[variable].ty.clone());
    let place = if let Some(variable) = expr.as_local().and_then(|local| own.get(&local)) {
        match whole(*variable) {
            array @ Place { ty: Type::Array(..), .. } => array.index(Expr::int(0)),
            other => other,
        }
    } else if let Some(Place { kind: PlaceKind::Index(base, _), .. }) = expr.as_cast().and_then(Expr::as_address)
        && matches!(base.kind, PlaceKind::Global(variable) if own.values().any(|known| *known == variable))
        && expr.ty.pointee() == Some(&base.ty)
    {
        // The address of a whole array, as it was.
        (**base).clone()
    } else {
        return;
    };
    *expr = Expr::new(ExprKind::AddressOf(place), expr.ty.clone()).at(expr.span);
}

/// A copy to or from a variable outside functions, with the arguments that it leaves out.
pub(super) struct SymbolCopy {
    symbol: Symbol,
    /// All but the stream.
    pub(super) args: Vec<Expr>,
    /// Where the stream is, if one is given.
    pub(super) stream: Option<usize>,
}

impl SymbolCopy {
    /// The copy, if there are the arguments that cannot be left out.
    pub(super) fn new(symbol: Symbol, args: &[Expr]) -> Option<SymbolCopy> {
        let mut args = args.to_vec();
        if args.len() < symbol.offset {
            return None;
        }
        let kind = Expr::cast(Expr::int(symbol.usual_kind), Type::Opaque(COPY_KIND.name.into()));
        let left_out = args.len()..=symbol.source.kind;
        args.extend(left_out.map(|position| if position == symbol.offset { Expr::int(0) } else { kind.clone() }));
        let stream = (args.len() > symbol.stream).then_some(symbol.stream);
        Some(SymbolCopy { symbol, args, stream })
    }

    pub(super) fn to(&self) -> &Expr {
        self.args[self.symbol.to].uncast_pointer()
    }

    pub(super) fn from(&self) -> &Expr {
        self.args[self.symbol.source.from].uncast_pointer()
    }

    pub(super) fn kind(&self) -> &Expr {
        &self.args[self.symbol.source.kind]
    }

    /// The derivatives of the two ends, that of the variable at the copy's offset.
    pub(super) fn at_offset(&self, to: Expr, from: Option<Expr>) -> (Expr, Option<Expr>) {
        let (to, from) = (plain(to), from.map(plain));
        let offset = &self.args[self.symbol.offset];
        match self.symbol.is_from {
            true => (to, from.map(|from| moved(from, offset))),
            false => (moved(to, offset), from),
        }
    }
}

/// `&*pointer` as `pointer`.
fn plain(pointer: Expr) -> Expr {
    if let Some(Place { kind: PlaceKind::Element(inner, index), .. }) = pointer.uncast_pointer().as_address()
        && index.is_zero()
        && inner.ty.pointee() == pointer.ty.pointee()
    {
        (**inner).clone()
    } else {
        pointer
    }
}

/// A pointer to floating numbers so many bytes further on.
fn moved(pointer: Expr, bytes: &Expr) -> Expr {
    let Some(number) = pointer.ty.pointee().cloned().filter(|_| !bytes.is_zero()) else { return pointer };
    let size = Expr::new(ExprKind::SizeOf(number), Type::SIZE);
    let count = Expr::binary(BinaryOp::Divide, Expr::cast(bytes.clone(), Type::SIZE), size);
    Expr::binary(BinaryOp::Offset, pointer, Expr::cast(count, Type::LONG))
}

/// Leaves out the arguments at some positions.
fn without(args: &mut Vec<Expr>, positions: &[(usize, usize)]) {
    let mut at = 0;
    args.retain(|_| {
        at += 1;
        !positions.iter().any(|(position, _)| *position == at - 1)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::text;

    fn request(module: &Module, function: &str, names: &[&str]) -> Request {
        let id = module.function(function).expect("the function");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Request::new(module, id, Some(&names)).expect("a request")
    }

    const PROGRAM: &str = "record V { x: float, n: int }
        device a::table: float[8]; constant k: float; device v: V; managed rows: float[2][3]; constant n: int;
        device f(x: float) -> float { return ((x * k) + a::table[3]); }
        device pure(x: float) -> float { return x; }
        kernel main(x: float*, i: int) {
          let t: float;
          t = call f(x[0]);
          x[1] = call pure(t);
          let p: const float* = &a::table[2];
          rows[1][2] = (p[1] + v.x);
          x[0] = rows[i][n];
        }";

    #[test]
    fn what_is_lifted_comes_back() {
        let module = text::parse(PROGRAM).expect("the text is well-formed");
        let request = request(&module, "main", &["x", "table", "k", "v", "rows"]);
        let lifted = lift(&module, &request).expect("no rules");
        let main = &lifted.module.functions[request.function];
        let names: Vec<&str> = main.params.iter().map(|param| main.local_name(*param)).collect();
        assert_eq!(names, ["x", "i", "_table", "_k", "_v", "_rows"]);
        assert_eq!(lifted.wrt, [0, 2, 3, 4, 5].map(LocalId));
        let pure = lifted.module.function("pure").expect("a function");
        assert_eq!(lifted.module.functions[pure].params.len(), 1);
        assert_eq!(labels(&lifted.module, main, &lifted.wrt), ["0", "table", "k", "v", "rows"]);
        let mut restored = lifted.module.clone();
        lifted.restore(&mut restored).expect("no host code");
        assert_eq!(text::print(&restored), text::print(&module));
    }

    #[test]
    fn only_floating_variables_of_the_device_can_be_named() {
        let module = text::parse(PROGRAM).expect("the text is well-formed");
        let names = ["n".to_owned(), "k".to_owned(), "::k".to_owned(), "table".to_owned()];
        let function = module.function("main").expect("the kernel");
        let found = Request::new(&module, function, Some(&names)).expect_err("two mistakes");
        let messages: Vec<&str> = found.iter().map(|found| &*found.message).collect();
        assert_eq!(messages, ["`n` cannot be named", "`::k` is named twice"]);
    }
}
