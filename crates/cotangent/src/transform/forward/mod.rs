//! Forward mode: a function that computes values and, beside them, how they change with the named parameters.
//!
//! `f_pushforward` has `f`'s parameters and then one tangent for each named parameter, in the order named: `T* _d_p` for
//! a pointer or reference, `T _d_v` for a value, `S _d_s` for a struct, whose pointers are tangents of arrays. A
//! function with a result also gets the result's tangent, by a last parameter `T* _d_result`.
//!
//! Every local that may hold an active value or lead to one has a shadow `_d_name`. A statement's tangent stands before
//! it, so that it sees the values that the statement sees. Calls become calls of `callee_pushforward`, one for each
//! pattern of active arguments.
//!
//! The files: `activity` says what is active, `stmts`, `exprs` and `helpers` write tangents; here are requests, names and
//! signatures.

mod activity;
mod exprs;
mod helpers;
mod host;
mod overwritten;
mod stated;
mod stmts;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use self::activity::{Activity, Analyses, Pattern};
use self::helpers::call_helpers;
use super::deterministic::refuse_own_order;
use super::differentiable::{differentiable_parameters, leads_to_floats};
use super::launch::{add_plain_launcher, needs_twice_the_memory};
use super::normalize::{gather_dynamic, inline_these, remove_jumps, results_of_runtime};
use super::references::fit_references;
use super::simplify::drop_idle_pointers;
use super::taken_name::taken_name;
use super::variables::{labels, lift};
use super::{Request, Shadows, shadow_name, shadow_type};
use crate::diagnostic::{self, Diagnostic};
use crate::ir::{
    Block, Function, FunctionId, Local, LocalId, Module, Name, Place, Space, Stmt, StmtKind, Storage, Type, order,
};
use crate::source::Span;

/// The function's pushforward with all it needs; it is the last function of the module.
///
/// # Errors
/// What on an active path has no derivative, or none yet.
pub fn forward(module: &Module, request: &Request) -> Result<Module, Vec<Diagnostic>> {
    if request.is_deterministic {
        refuse_own_order(module, request.function)?;
    }
    let lifted = lift(module, request)?;
    let normal = with_one_dynamic_memory(&lifted.module);
    let module = &normal;
    let mut ctx = Ctx {
        // What is printed states no rules.
        module: Module { rules: Vec::new(), ..module.clone() },
        primal: module,
        analyses: Analyses::default(),
        versions: HashMap::new(),
        diagnostics: check(module, request.function, &lifted.wrt),
    };
    if ctx.diagnostics.is_empty() {
        let activity = ctx.analyses.root(module, request.function, &lifted.wrt);
        let root = ctx.version(request.function, activity, &lifted.wrt);
        if ctx.diagnostics.is_empty() {
            call_helpers(&mut ctx.module, root);
            lifted.restore(&mut ctx.module)?;
            let mut roots = vec![root];
            let made = &ctx.module.functions[root];
            if made.space == Space::Kernel && needs_twice_the_memory(made) {
                roots.push(add_plain_launcher(&mut ctx.module, root));
            }
            return Ok(order::needed_by(&ctx.module, &roots));
        }
    }
    let mut seen = Vec::new();
    ctx.diagnostics.retain(|found| {
        !seen.contains(found) && {
            seen.push(found.clone());
            true
        }
    });
    Err(lifted.said(ctx.diagnostics))
}

/// The module with one name for dynamic shared memory: a tangent that is stored by one name and read by another would be
/// lost. Functions with names of their own are part of their callers.
fn with_one_dynamic_memory(module: &Module) -> Module {
    let mut normal = module.clone();
    let mut inlined = HashSet::new();
    for id in module.functions.ids() {
        let mut function = module.functions[id].clone();
        results_of_runtime(module, &mut function);
        inline_these(&normal, &mut function, &inlined);
        gather_dynamic(&mut function);
        let is_dynamic = |local: &Local| local.storage == Storage::DynamicShared;
        if function.space == Space::Device && module.rule(id).is_none() && function.locals.iter().any(is_dynamic) {
            remove_jumps(&normal, &mut function);
            inlined.insert(id);
        }
        normal.functions.set(id, function);
    }
    normal
}

/// Named parameters must be able to carry derivatives.
fn check(module: &Module, id: FunctionId, wrt: &[LocalId]) -> Vec<Diagnostic> {
    let function = &module.functions[id];
    let known = differentiable_parameters(module, id);
    let mut found = Vec::new();
    for param in wrt.iter().filter(|param| !known.contains(param)) {
        let local = &function.locals[*param];
        let message = format!("`{}` has no floating value and cannot be named", local.name);
        let names: Vec<&str> = known.iter().map(|param| function.local_name(*param)).collect();
        let can = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let refused = Diagnostic::new(diagnostic::NOT_DIFFERENTIABLE, local.span, message, "this parameter");
        found.push(refused.help(format!("parameters of `{}` that can be named: {can}", function.name)));
    }
    if wrt.is_empty() {
        let message = format!("`{}` has no parameter to differentiate with respect to", function.name);
        let refused = Diagnostic::new(diagnostic::NOT_DIFFERENTIABLE, function.span, message, "this function");
        found.push(refused.help("parameters that are floats, or contain or point to floats, can be named"));
    }
    found
}

/// What all functions of the result share.
struct Ctx<'m> {
    /// The primal module, and what was made so far after it.
    module: Module,
    primal: &'m Module,
    analyses: Analyses,
    versions: HashMap<(FunctionId, Pattern), FunctionId>,
    diagnostics: Vec<Diagnostic>,
}

/// One pushforward while it is made.
struct Pushforward<'c, 'm> {
    ctx: &'c mut Ctx<'m>,
    /// The primal function.
    function: &'m Function,
    activity: Activity,
    shadows: Shadows,
    /// Those of the primal and new ones after them.
    locals: crate::index::IdVec<LocalId, Local>,
    /// The shadow's name for each name of a local.
    names: HashMap<Name, Name>,
    taken: HashSet<Name>,
    /// Where the result's tangent goes.
    result: Option<Place>,
    /// For each loop around: what to do before its counter steps.
    steps: Vec<Block>,
}

impl<'m> Ctx<'m> {
    /// The pushforward of a function that is called, for the arguments that are active there.
    fn callee(&mut self, id: FunctionId, pattern: &Pattern) -> FunctionId {
        let key = (id, pattern.clone());
        if let Some(known) = self.versions.get(&key) {
            return *known;
        }
        let activity = (*self.analyses.callee(self.primal, id, pattern)).clone();
        let params = &self.primal.functions[id].params;
        let active = params
            .iter()
            .zip(pattern)
            .filter(|(_, levels)| levels.iter().any(|level| level.has_tangent()))
            .map(|(param, _)| *param);
        let active: Vec<LocalId> = active.collect();
        let made = match self.as_stated(id, &activity, &active) {
            Some(stated) => stated,
            None => self.version(id, activity, &active),
        };
        self.versions.insert(key, made);
        made
    }

    /// Makes a pushforward with tangents for the given parameters.
    fn version(&mut self, id: FunctionId, mut activity: Activity, active: &[LocalId]) -> FunctionId {
        let primal = self.primal;
        let function = &primal.functions[id];
        self.report_conflicts(function, &activity);
        let name = self.name(id, active);
        let result_has_shadow = activity.result_has_shadow(primal, &function.result);
        let modules_names = primal.functions.iter().map(|other| other.name.clone());
        let taken = function.locals.iter().map(|local| local.name.clone());
        let globals = primal.globals.iter().map(|global| global.name.clone());
        let mut made = Pushforward {
            ctx: self,
            function,
            activity,
            shadows: Shadows::default(),
            locals: function.locals.clone(),
            names: HashMap::new(),
            taken: taken.chain(modules_names).chain(globals).collect(),
            result: None,
            steps: Vec::new(),
        };
        let mut params = function.params.clone();
        for param in active {
            params.push(made.shadow(*param, parameter_type(&function.locals[*param].ty)));
        }
        if result_has_shadow {
            let ty = Type::pointer(parameter_type(&function.result));
            let result = made.fresh("_d_result", ty.clone());
            made.result = Some(Place::deref(crate::ir::Expr::load(Place::local(result, ty))));
            params.push(result);
        }
        let stated = made.stated(id, active);
        let mut body = stated.unwrap_or_else(|| made.body(active));
        let is_shadow = |local: LocalId| local.0 as usize >= function.locals.len();
        drop_idle_pointers(&mut body, |local| is_shadow(local) && made.locals[local].ty.is_pointer());
        let locals = order::declared_only(&mut params, made.locals, &mut body);
        let mut pushforward = Function {
            name,
            space: function.space,
            params,
            result: function.result.clone(),
            locals,
            body,
            launch_bounds: function.launch_bounds,
            is_extern_c: false,
            span: function.span,
            note: None,
        };
        fit_references(&self.module, &mut pushforward);
        self.module.functions.push(pushforward)
    }

    /// `f_pushforward` if all that can be active is, else with the positions of what is.
    fn name(&mut self, id: FunctionId, active: &[LocalId]) -> Name {
        let function = &self.primal.functions[id];
        // The user's own has the usual name.
        let some = if self.primal.pushforward(id).is_some() { "_some" } else { "" };
        let mut name = format!("{}{some}_pushforward", function.name);
        let mut active = active.to_vec();
        active.sort_unstable();
        labels(self.primal, function, &active).iter().for_each(|label| name += &format!("_{label}"));
        self.diagnostics.extend(taken_name(self.primal, function.span, &name));
        // Versions of one function that differ behind pointers only.
        let mut number = 1;
        let wanted = name.clone();
        while self.module.functions.iter().any(|other| *other.name == *name) {
            name = format!("{wanted}_v{number}");
            number += 1;
        }
        name.into()
    }

    fn report_conflicts(&mut self, function: &Function, activity: &Activity) {
        for conflict in activity.conflicts() {
            let constant = &conflict.constant;
            let span = if conflict.span.is_none() { function.span } else { conflict.span };
            let is_param = function.params.iter().any(|param| function.locals[*param].name == *constant);
            let is_variable =
                self.primal.globals.iter().any(|other| other.name == *constant && other.storage.is_on_device());
            let refused = match conflict.named {
                Some(named) => Diagnostic::new(
                    diagnostic::MIXED_POINTER,
                    span,
                    format!(
                        "a pointer may mean `{named}`, which has a derivative, and `{constant}`, which is constant"
                    ),
                    "in this function",
                )
                .help(format!("name `{constant}` too, or choose between two values instead of two pointers")),
                None => Diagnostic::new(
                    diagnostic::CONSTANT_MEMORY,
                    span,
                    format!("an active value is stored to `{constant}`, which is constant"),
                    "the derivative would be lost here",
                )
                .help(if is_param || is_variable {
                    format!("name `{constant}` too")
                } else {
                    format!("make `{constant}` a parameter and name it")
                }),
            };
            self.diagnostics.push(refused);
        }
    }
}

impl Pushforward<'_, '_> {
    /// The body, after the shadows of parameters that become active inside.
    fn body(&mut self, active: &[LocalId]) -> Block {
        let function = self.function;
        let mut body = Block::new();
        for param in function.params.iter().filter(|param| !active.contains(param)) {
            let ty = &function.locals[*param].ty;
            if !ty.is_pointer() && self.activity.has_shadow(self.ctx.primal, *param, ty) {
                let shadow = self.shadow(*param, ty.clone());
                body.push(Stmt::new(StmtKind::Declare { local: shadow, init: Some(self.ctx.primal.zero(ty)) }));
            }
        }
        self.block(&function.body, &mut body);
        body
    }

    /// Makes the shadow of a local.
    fn shadow(&mut self, local: LocalId, ty: Type) -> LocalId {
        let primal = self.locals[local].name.clone();
        let name = match self.names.get(&primal) {
            Some(name) => name.clone(),
            None => self.free_name(&shadow_name(&primal)),
        };
        self.names.insert(primal, name.clone());
        let Local { storage, align, span, .. } = self.locals[local];
        let shadow = self.locals.push(Local { name, ty: ty.clone(), storage, align, span });
        self.shadows.insert(local, Place::local(shadow, ty));
        shadow
    }

    /// Makes a local whose name no other has.
    fn fresh(&mut self, wanted: &str, ty: Type) -> LocalId {
        let name = self.free_name(wanted);
        self.locals.push(Local { name, ty, storage: Storage::Private, align: None, span: Span::NONE })
    }

    fn free_name(&mut self, wanted: &str) -> Name {
        let mut name: Name = wanted.into();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            name = format!("{wanted}_{number}").into();
            number += 1;
        }
        name
    }

    fn refuse(&mut self, span: Span, message: impl Into<String>, help: impl Into<String>) {
        let refused = Diagnostic::new(diagnostic::NO_DERIVATIVE, span, message, "on an active path");
        self.ctx.diagnostics.push(refused.help(help));
    }

    fn carries(&self, ty: &Type) -> bool {
        leads_to_floats(self.ctx.primal, ty)
    }
}

/// The type of a tangent that is a parameter: what refers to the primal refers by pointer to the tangent.
fn parameter_type(ty: &Type) -> Type {
    let mut ty = shadow_type(ty);
    if let Type::Pointer(pointer) = &mut ty {
        pointer.is_reference = false;
    }
    ty
}
