//! What is tested by texts: a table of public passes and analyses, and how each is called.

use std::collections::BTreeSet;

use cotangent::analysis::ordering::{asks_for_thread, is_without_jumps, may_meet, may_meet_in_block, ordering};
use cotangent::analysis::race::{Addition, AdjointParam, Sharing, additions};
use cotangent::analysis::shift::shifts;
use cotangent::analysis::{
    Base, Object, Objects, Step, Uniform, activity, effects, is_pure, objects, reads_through, stmt_writes, uses_memory,
    variables_of,
};
use cotangent::diagnostic::Diagnostic;
use cotangent::ir::{
    Expr, Function, FunctionId, LocalId, Module, Place, Scope, Stmt, StmtKind, Type, order, text, walk,
};
use cotangent::source::Sources;
use cotangent::transform::{Analyses, Request, accumulate, planned_reverse, privatize, reverse};

use crate::file::{Options, Room, printed};

/// All rooms.
pub(crate) const ROOMS: &[Room] = &[
    Room {
        name: "reverse",
        options: &["function=", "wrt=", "split", "save=", "rollback=", "slots=", "wide", "unproven"],
        run: reversed,
    },
    Room {
        name: "plan",
        options: &["function=", "wrt=", "split", "save=", "rollback=", "slots=", "wide", "unproven"],
        run: planned,
    },
    Room { name: "accumulate", options: &["function=", "adjoints=", "own=", "anywhere="], run: accumulated },
    Room { name: "privatize", options: &["function="], run: privatized },
    Room { name: "objects", options: &["function="], run: objects_of },
    Room { name: "activity", options: &["function=", "wrt="], run: activity_of },
    Room { name: "shift", options: &["function="], run: shifts_of },
    Room { name: "effects", options: &[], run: effects_of },
    Room { name: "uniform", options: &["function=", "alone"], run: uniform_values },
    Room { name: "owner", options: &["function=", "adjoints=", "own=", "anywhere="], run: owned },
    Room { name: "ordering", options: &["function="], run: order_of_threads },
];

/// The function of an option; without one, the last of the module.
fn function(module: &Module, options: &Options) -> Result<FunctionId, String> {
    match options.get("function") {
        Some(name) => module.function(name).ok_or_else(|| format!("there is no function `{name}`")),
        None => module.functions.ids().last().ok_or_else(|| "there is no function".to_owned()),
    }
}

/// The names in the value of an option, with commas between.
fn names(options: &Options, key: &str) -> Option<Vec<String>> {
    let value = options.get(key)?;
    Some(value.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

fn local(function: &Function, name: &str) -> Result<LocalId, String> {
    let found = function.locals.ids().find(|local| function.local_name(*local) == name);
    found.ok_or_else(|| format!("`{}` has no variable `{name}`", function.name))
}

/// The gradient, or why there is none.
fn reversed(module: Module, options: &Options) -> Result<String, String> {
    match requested(&module, options)?.and_then(|request| reverse(&module, &request)) {
        Ok(gradient) => printed(&gradient),
        Err(found) => Ok(refused(&found)),
    }
}

/// What was decided for the gradient, or why there is none.
fn planned(module: Module, options: &Options) -> Result<String, String> {
    match requested(&module, options)?.and_then(|request| planned_reverse(&module, &request)) {
        Ok((_, plans)) => Ok(plans.iter().map(|plan| plan.print(&Sources::default())).collect()),
        Err(found) => Ok(refused(&found)),
    }
}

/// The request of a text; the outer error is one of the text's own.
fn requested(module: &Module, options: &Options) -> Result<Result<Request, Vec<Diagnostic>>, String> {
    let function = function(module, options)?;
    let slots = options.get("slots").map(|slots| slots.parse().map_err(|error| format!("slots={slots}: {error}")));
    let slots = slots.transpose()?;
    let request = || -> Result<Request, Vec<Diagnostic>> {
        let mut request = Request::new(module, function, names(options, "wrt").as_deref())?;
        if options.get("split").is_some() {
            request = request.split(module, &names(options, "save").unwrap_or_default())?;
        }
        if let Some(names) = names(options, "rollback") {
            request = request.rolled_back(module, &names)?;
        }
        if options.get("unproven").is_some() {
            request = request.with_analyses(Analyses::Off);
        }
        request.with_record_slots(slots).with_wide_adjoints(module, options.get("wide").is_some())
    };
    Ok(request())
}

/// Diagnostics, without the places that a text does not have.
fn refused(found: &[Diagnostic]) -> String {
    let mut out = String::from("refused\n");
    for Diagnostic { code, message, label, help, .. } in found {
        out.push_str(&format!("  {}: {message}\n    here: {label}\n", code.id));
        if let Some(help) = help {
            out.push_str(&format!("    help: {help}\n"));
        }
    }
    out
}

/// `adjoints=d_x:x` says that `d_x` is the adjoint of `x`. Threads share all but those that are named by `own`; those that
/// are named by `anywhere` may be a thread's own as well.
fn adjoints(function: &Function, options: &Options) -> Result<Vec<AdjointParam>, String> {
    let own = names(options, "own").unwrap_or_default();
    let anywhere = names(options, "anywhere").unwrap_or_default();
    let pairs = names(options, "adjoints").unwrap_or_default();
    let param = |pair: &String| {
        let (adjoint, primal) = pair.split_once(':').ok_or_else(|| format!("`{pair}` is no pair `d_x:x`"))?;
        Ok(AdjointParam {
            adjoint: local(function, adjoint)?,
            primal: local(function, primal)?,
            is_shared: !own.iter().any(|name| name == adjoint),
            is_anywhere: anywhere.iter().any(|name| name == adjoint),
            is_contended: false,
        })
    };
    pairs.iter().map(param).collect()
}

fn accumulated(mut module: Module, options: &Options) -> Result<String, String> {
    let id = function(&module, options)?;
    let adjoints = adjoints(&module.functions[id], options)?;
    accumulate(&mut module, id, &adjoints);
    printed(&module)
}

/// Locals are numbered anew, so that the text has no numbers.
fn privatized(mut module: Module, options: &Options) -> Result<String, String> {
    let id = function(&module, options)?;
    privatize(&mut module, id);
    let function = &mut module.functions[id];
    let locals = std::mem::take(&mut function.locals);
    function.locals = order::declared_only(&mut function.params, locals, &mut function.body);
    printed(&module)
}

/// How each addition may be made.
fn owned(module: Module, options: &Options) -> Result<String, String> {
    let id = function(&module, options)?;
    let function = &module.functions[id];
    let mut decisions = additions(&module, id, &adjoints(function, options)?).into_iter();
    let mut out = String::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        let StmtKind::Accumulate { .. } = &stmt.kind else { return };
        let decision = match decisions.next() {
            Some(Addition::Plain) => "plain".to_owned(),
            Some(Addition::Atomic(sharing, scope)) => {
                let reason = match sharing {
                    Sharing::UnknownMemory => "the memory is not known",
                    Sharing::SomeThreads => "threads may share it",
                    Sharing::OtherStreams => "other streams may add too",
                };
                let place = if scope == Scope::Anywhere { ", or it is the thread's own" } else { "" };
                format!("atomic, {reason}{place}")
            }
            None => "no decision".to_owned(),
        };
        out.push_str(&format!("{} {decision}\n", line(&module, function, stmt)));
    });
    Ok(out)
}

/// The first line of a statement.
fn line(module: &Module, function: &Function, stmt: &Stmt) -> String {
    text::print_stmt(module, function, stmt).lines().next().unwrap_or_default().to_owned()
}

/// An object in words: `x` is the variable, `x[]` what it points to, `s.data[]` what a field of it points to.
fn object_name(module: &Module, function: &Function, object: &Object) -> String {
    let (mut name, mut ty) = match object.base {
        Base::Local(local) => (function.local_name(local).to_owned(), function.locals[local].ty.clone()),
        Base::Global(global) => (module.globals[global].name.to_string(), module.globals[global].ty.clone()),
        Base::Unread => return "memory of code that is not read".to_owned(),
        Base::Unknown => return "unknown memory".to_owned(),
    };
    for step in &object.path {
        while let Type::Array(element, _) = ty {
            ty = *element;
        }
        ty = match (step, &ty) {
            (Step::Deref, ty) => {
                name.push_str("[]");
                ty.pointee().cloned().unwrap_or(Type::Void)
            }
            (Step::Field(position), Type::Record(record)) => {
                let field = &module.records[*record].fields[*position as usize];
                name.push_str(&format!(".{}", field.name));
                field.ty.clone()
            }
            (Step::Field(position), _) => {
                name.push_str(&format!(".{position}"));
                Type::Void
            }
        };
    }
    name
}

fn list<'o>(module: &Module, function: &Function, found: impl IntoIterator<Item = &'o Object>) -> String {
    let names: Vec<String> = found.into_iter().map(|object| object_name(module, function, object)).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn value_of(function: &Function, local: LocalId) -> Expr {
    Expr::load(Place::local(local, function.locals[local].ty.clone()))
}

/// What each variable points to, and where each statement writes.
fn objects_of(module: Module, options: &Options) -> Result<String, String> {
    let function = &module.functions[function(&module, options)?];
    let found = objects(&module, function);
    let mut out = String::new();
    for local in function.locals.ids() {
        let value = value_of(function, local);
        let name = function.local_name(local);
        if value.ty.is_pointer() {
            out.push_str(&format!("{name} points to {}\n", list(&module, function, &found.targets(&value))));
        } else if uses_memory(&module, &value.ty) {
            out.push_str(&format!("{name} leads to {}\n", list(&module, function, &found.reachable(&value))));
        }
    }
    walk::each_stmt(&function.body, &mut |stmt| {
        let writes = stmt_writes(&found, stmt);
        let is_plain = writes.iter().all(|object| object.as_local().is_some()) && writes.len() == 1;
        if !writes.is_empty() && (!is_plain || matches!(stmt.kind, StmtKind::Assign { .. })) {
            let stmt = line(&module, function, stmt);
            out.push_str(&format!("{stmt} writes {}\n", list(&module, function, &writes)));
        }
    });
    Ok(out)
}

/// All variables, and the memory that they lead to.
fn all_objects(module: &Module, function: &Function, found: &Objects<'_>) -> BTreeSet<Object> {
    let mut all: BTreeSet<Object> = function.locals.ids().map(Object::local).collect();
    for local in function.locals.ids() {
        all.extend(found.reachable(&value_of(function, local)));
    }
    all.extend(module.globals.ids().map(|global| Object { base: Base::Global(global), path: Vec::new() }));
    all
}

fn activity_of(module: Module, options: &Options) -> Result<String, String> {
    let function = &module.functions[function(&module, options)?];
    let found = objects(&module, function);
    let named = names(options, "wrt").unwrap_or_default();
    let named = named.iter().map(|name| local(function, name)).collect::<Result<Vec<_>, _>>()?;
    let activity = activity(&module, &found, &function.body, &named);
    let all = all_objects(&module, function, &found);
    let of = |is_meant: &dyn Fn(&Object) -> bool| list(&module, function, all.iter().filter(|it| is_meant(it)));
    Ok(format!(
        "active: {}\nonly depend on what is named: {}\nonly matter for what is named: {}\nconstant: {}\n",
        of(&|it| activity.is_active(it)),
        of(&|it| activity.is_varied(it) && !activity.is_active(it)),
        of(&|it| activity.is_touched(it) && !activity.is_varied(it)),
        of(&|it| !activity.is_touched(it)),
    ))
}

/// The variables that cancel.
fn shifts_of(module: Module, options: &Options) -> Result<String, String> {
    let function = &module.functions[function(&module, options)?];
    let found: Vec<&str> = shifts(&module, &objects(&module, function), function)
        .into_iter()
        .map(|local| function.local_name(local))
        .collect();
    Ok(if found.is_empty() { "none cancels\n".to_owned() } else { format!("{} cancels\n", found.join(", ")) })
}

/// What calling each function does.
fn effects_of(module: Module, _: &Options) -> Result<String, String> {
    fn pure(module: &Module, id: FunctionId) -> bool {
        is_pure(module, &module.functions[id], &|callee| pure(module, callee))
    }
    let mut out = String::new();
    for (id, function) in module.functions.entries() {
        let found = effects(&module, id);
        let params = |positions: &BTreeSet<usize>| {
            let names: Vec<&str> = positions.iter().map(|at| function.local_name(function.params[*at])).collect();
            if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
        };
        let mentioned: Vec<&str> =
            variables_of(&module, id).into_iter().map(|global| &*module.globals[global].name).collect();
        out.push_str(&format!(
            "{}: {}\n  writes through {}\n  reads through {}\n  writes besides {}\n",
            function.name,
            if pure(&module, id) { "pure" } else { "not pure" },
            params(&found.params),
            params(&reads_through(&module, id)),
            list(&module, function, &found.others),
        ));
        if !mentioned.is_empty() {
            out.push_str(&format!("  mentions {}\n", mentioned.join(", ")));
        }
    }
    Ok(out)
}

/// For whom each value and condition is the same; `alone` without a look at what is called.
fn uniform_values(module: Module, options: &Options) -> Result<String, String> {
    let function = &module.functions[function(&module, options)?];
    let uniform = match options.get("alone") {
        Some(_) => Uniform::new(function),
        None => Uniform::in_module(&module, function),
    };
    let mut out = String::new();
    walk::each_stmt(&function.body, &mut |stmt| {
        let value = match &stmt.kind {
            StmtKind::Declare { init: Some(value), .. }
            | StmtKind::Assign { value, .. }
            | StmtKind::If { cond: value, .. }
            | StmtKind::While { cond: value, .. } => value,
            _ => return,
        };
        let same = if uniform.is_same(value) {
            "the same in a block"
        } else if uniform.is_same_in_warp(value) {
            "the same in a warp"
        } else {
            "not known to be the same"
        };
        let asks = if uniform.is_of_thread(value) { ", asks for the thread" } else { "" };
        out.push_str(&format!("{} {same}{asks}\n", line(&module, function, stmt)));
    });
    Ok(out)
}

fn order_of_threads(module: Module, options: &Options) -> Result<String, String> {
    let id = function(&module, options)?;
    let function = &module.functions[id];
    let mut out = format!(
        "{:?}, {}, {}\n",
        ordering(&module, id),
        if asks_for_thread(&module, id) { "asks for the thread" } else { "does not ask for the thread" },
        if is_without_jumps(function) { "without jumps" } else { "with jumps" },
    );
    walk::each_stmt(&function.body, &mut |stmt| {
        let who = match (may_meet_in_block(&module, stmt), may_meet(&module, stmt)) {
            (true, _) => "the block may meet",
            (false, true) => "a warp may meet",
            (false, false) => return,
        };
        out.push_str(&format!("{} {who}\n", line(&module, function, stmt)));
    });
    Ok(out)
}
