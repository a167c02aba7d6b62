//! Calls of functions with a rule of the user's: the reverse sweep calls what the user wrote.
//!
//! What the rule is given are values as they were at the call: arguments are kept like all values that the reverse sweep
//! reads, and variables that pointers lead to are copied. Memory of all threads is not, so a rule that looks at memory
//! which the function changes is refused. What the rule does not mention is not kept for it.

use super::super::derivatives::Adders;
use super::super::variables::as_pointer;
use super::{Pair, Rules};
use crate::analysis::{self, Base, Object, Step};
use crate::diagnostic::{CANNOT_RECORD, Diagnostic, RULE_CONFLICT};
use crate::ir::walk::{self, own_variable};
use crate::ir::{
    Block, Expr, ExprKind, Function, FunctionId, LocalId, Module, Place, PlaceKind, RuleKind, Stmt, StmtKind, Type,
};
use crate::transform::differentiable::leads_to_floats;
use crate::transform::locals::{assign, declare};
use crate::transform::normalize::address;
use crate::transform::signatures::{VALUE_FIELD, adjoint_type, has_seed, writes_active};

/// What a rule does with an adjoint.
struct AdjointPlace<'a> {
    rule: &'a Function,
    adjoint: LocalId,
    /// Whether it only adds: the function changes nothing.
    is_pure: bool,
}

/// How much of what a pointer leads to is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// What it points to.
    Itself,
    /// That, and what pointers there lead to.
    All,
}

/// Whether a rule, or what it calls, may add atomically to what one of its parameters leads to, which a thread's own
/// variables cannot be.
fn adds_atomically(module: &Module, rule: &Function, param: LocalId, reach: Reach) -> bool {
    let objects = analysis::objects(module, rule);
    let is_meant = |object: &Object| match object.base {
        Base::Local(local) => {
            let pointers = object.path.iter().filter(|step| **step == Step::Deref).count();
            local == param && (reach == Reach::All || pointers == 1)
        }
        Base::Unread | Base::Unknown => true,
        Base::Global(_) => false,
    };
    let mut found = false;
    walk::each_stmt(&rule.body, &mut |stmt| match &stmt.kind {
        StmtKind::Atomic { place, .. } => found |= objects.of_place(place).iter().any(is_meant),
        StmtKind::Call { function, args, .. } => {
            let callee = &module.functions[*function];
            for (arg, param) in args.iter().zip(&callee.params) {
                found |= arg.ty.is_pointer()
                    && objects.targets(arg).iter().any(is_meant)
                    && adds_atomically(module, callee, *param, reach);
            }
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
        | StmtKind::Collective { .. }
        | StmtKind::Launch(_)
        | StmtKind::Runtime { .. }
        | StmtKind::Push { .. }
        | StmtKind::Pop { .. }
        | StmtKind::Opaque { .. } => {}
    });
    found
}

/// The same address in another variable of the same type, promises included.
fn readdressed(arg: &Expr, to: LocalId) -> Expr {
    let kind = match &arg.kind {
        ExprKind::AddressOf(place) => ExprKind::AddressOf(moved(place, to)),
        ExprKind::Cast(operand) => ExprKind::Cast(Box::new(readdressed(operand, to))),
        other @ (ExprKind::Bool(_)
        | ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Null
        | ExprKind::Load(_)
        | ExprKind::Unary(..)
        | ExprKind::Binary(..)
        | ExprKind::Select(..)
        | ExprKind::Math(..)
        | ExprKind::Builtin(_)
        | ExprKind::SizeOf(_)
        | ExprKind::Construct(_)) => other.clone(),
    };
    Expr { kind, ty: arg.ty.clone(), span: arg.span }
}

/// The same part of another variable of the same type.
fn moved(place: &Place, to: LocalId) -> Place {
    let kind = match &place.kind {
        PlaceKind::Local(_) => PlaceKind::Local(to),
        PlaceKind::Field(base, position) => PlaceKind::Field(Box::new(moved(base, to)), *position),
        PlaceKind::Index(base, index) => PlaceKind::Index(Box::new(moved(base, to)), index.clone()),
        PlaceKind::Global(_) | PlaceKind::Element(..) => place.kind.clone(),
    };
    Place { kind, ty: place.ty.clone(), span: place.span }
}

fn changed_memory(rule: &Function, param: LocalId, arg: &Expr) -> Diagnostic {
    let message = format!(
        "`{}` looks at what `{}` points to, and that changes before the reverse sweep",
        rule.name,
        rule.local_name(param)
    );
    Diagnostic::new(CANNOT_RECORD, arg.span, message, "points to memory that is written in this function").help(
        "pass the values themselves, or state the rule by COTANGENT_RULE, whose record keeps what its reverse needs",
    )
}

fn atomic_on_variable(adjoint: &AdjointPlace<'_>, arg: &Expr) -> Diagnostic {
    let AdjointPlace { rule, adjoint, .. } = adjoint;
    let message = format!("`{}` adds atomically to `{}`", rule.name, rule.local_name(*adjoint));
    Diagnostic::new(RULE_CONFLICT, arg.span, message, "a variable of the thread, to which a GPU cannot add atomically")
        .help("call another function here, whose pullback adds by `+=`: a copy, or an instantiation of a template")
}

fn atomic_on_value(adjoint: &AdjointPlace<'_>, arg: &Expr) -> Diagnostic {
    let AdjointPlace { rule, adjoint, .. } = adjoint;
    let name = rule.local_name(*adjoint);
    let message = format!("`{}` adds atomically to `{name}`", rule.name);
    let label = "passed by value: its adjoint is a variable of the thread, to which a GPU cannot add atomically";
    Diagnostic::new(RULE_CONFLICT, arg.span, message, label).help(format!("add by `*{name} +=`: no other thread does"))
}

fn writes_more(module: &Module, function: FunctionId, augmented: FunctionId, stmt: &Stmt) -> Diagnostic {
    let [function, augmented] = [function, augmented].map(|id| &module.functions[id].name);
    let message = format!("`{augmented}` writes to memory that `{function}` does not write to");
    Diagnostic::new(RULE_CONFLICT, stmt.span, message, "called here")
        .help("let it do what the function does, and return the rest in its record")
}

impl Rules<'_> {
    /// Both sweeps of a call of a function that has a rule.
    pub(in crate::transform::reverse) fn ruled_call(
        &mut self,
        stmt: &Stmt,
        into: Option<&Place>,
        (callee, rule): (FunctionId, RuleKind),
        args: &[Expr],
    ) -> Pair {
        let mut pair = Pair { forward: vec![stmt.clone()], reverse: Block::new() };
        let written = analysis::call_writes(self.facts.objects, callee, args);
        let writes_active_memory = written.iter().any(|object| self.facts.activity.is_active(object));
        let active_into = into.filter(|into| self.facts.is_active_place(into));
        let (target, record) = match rule {
            RuleKind::Constant => {
                if writes_active_memory {
                    self.report(writes_active(self.facts.module, callee, stmt.span));
                }
                if let Some(into) = active_into {
                    self.forget(into, &mut pair.reverse);
                }
                return pair;
            }
            _ if active_into.is_none() && !writes_active_memory => return pair,
            // It says nothing about reverse mode.
            RuleKind::Pushforward(_) => {
                self.contradiction(stmt);
                return pair;
            }
            RuleKind::Pullback(pullback) => (pullback, None),
            RuleKind::Split { augmented, reverse } => {
                if !analysis::call_writes(self.facts.objects, augmented, args).is_subset(&written) {
                    self.report(writes_more(self.facts.module, callee, augmented, stmt));
                }
                let record = self.augmented_call(stmt, into, augmented, args, &mut pair.forward);
                (reverse, Some(record))
            }
        };
        let (mut out, mut before, mut after) = (Block::new(), Block::new(), Block::new());
        let rule = &self.facts.module.functions[target];
        let mut call_args = Vec::new();
        for (arg, param) in args.iter().zip(&rule.params) {
            call_args.push(self.rule_argument(rule, *param, arg, &mut before, &mut out));
        }
        if let Some(record) = record {
            let ty = &rule.locals[rule.params[args.len()]].ty;
            call_args.push(match ty.is_reference() {
                true => Expr::new(ExprKind::AddressOf(record), ty.clone()),
                false => Expr::load(record),
            });
        }
        let function = &self.facts.module.functions[callee];
        if has_seed(self.facts.module, function) {
            let shadow = active_into.and_then(|into| self.shadow(into));
            call_args.push(match (active_into, shadow) {
                (Some(into), Some(shadow)) => self.seed_of(into, &into.ty, &shadow, &mut out),
                _ => self.vars.zero(&function.result),
            });
        }
        for (arg, param) in args.iter().zip(&function.params) {
            if !leads_to_floats(self.facts.module, &function.locals[*param].ty) {
                continue;
            }
            let adjoint = rule.params[call_args.len()];
            let place = AdjointPlace { rule, adjoint, is_pure: written.is_empty() };
            call_args.push(self.rule_adjoint(arg, &place, &mut out, &mut after));
        }
        out.push(Stmt::new(StmtKind::Call { into: None, function: target, args: call_args }).at(stmt.span));
        out.extend(after);
        pair.forward.splice(0..0, before);
        pair.reverse = out;
        pair
    }

    /// The call of an augmented function in the forward sweep; where its record is.
    fn augmented_call(
        &mut self,
        stmt: &Stmt,
        into: Option<&Place>,
        augmented: FunctionId,
        args: &[Expr],
        out: &mut Block,
    ) -> Place {
        let ty = self.facts.module.functions[augmented].result.clone();
        let local = self.vars.add("_kept", ty.clone());
        let record = Place::local(local, ty.clone());
        let call = StmtKind::Call { into: Some(record.clone()), function: augmented, args: args.to_vec() };
        *out = vec![declare(local, None).at(stmt.span), Stmt::new(call).at(stmt.span)];
        if let (Some(into), Type::Record(id)) = (into, &ty) {
            let fields = (0u32..).zip(&self.facts.module.records[*id].fields);
            for (position, field) in fields.filter(|(_, field)| &*field.name == VALUE_FIELD) {
                let value = Expr::load(record.clone().field(position, field.ty.clone()));
                out.push(assign(into.clone(), value).at(stmt.span));
            }
        }
        record
    }

    /// What a rule is given for an argument of the function.
    fn rule_argument(
        &mut self,
        rule: &Function,
        param: LocalId,
        arg: &Expr,
        before: &mut Block,
        out: &mut Block,
    ) -> Expr {
        let ty = &rule.locals[param].ty;
        if !walk::mentions(&rule.body, param) {
            return match ty.pointee() {
                Some(pointee) if ty.is_reference() => {
                    let nothing = self.vars.nothing("_unused", pointee, out);
                    Expr::new(ExprKind::AddressOf(Place::local(nothing, pointee.clone())), ty.clone())
                }
                _ => self.vars.zero(ty),
            };
        }
        let variable = match address(arg) {
            Some(place) => own_variable(place).filter(|local| self.vars.is_register(*local)),
            None => None,
        };
        let reached = self.facts.objects.reachable(arg);
        let is_stable = reached.iter().all(|object| match object.as_local() {
            Some(local) => {
                Some(local) == variable || self.facts.locals.write_counts.get(&local).is_none_or(|count| *count < 2)
            }
            None => !self.facts.is_volatile(object),
        });
        if !is_stable {
            self.report(changed_memory(rule, param, arg));
        }
        match (address(arg), variable) {
            // A part of a variable: settling copies whole variables only.
            (Some(place), Some(local)) if !matches!(place.kind, PlaceKind::Local(_)) => {
                let whole = Place::local(local, self.vars.function.locals[local].ty.clone());
                let name = format!("{}_old", self.vars.base_name(&whole));
                let copy = self.vars.copy_in_variable(&name, &whole, before);
                readdressed(arg, copy)
            }
            _ => arg.clone(),
        }
    }

    /// Where a rule adds the adjoint of an argument. What carries none has a place too, if its size is known.
    fn rule_adjoint(&mut self, arg: &Expr, adjoint: &AdjointPlace<'_>, out: &mut Block, after: &mut Block) -> Expr {
        let adders = self.adders(arg);
        if !arg.ty.is_pointer() {
            if adds_atomically(self.facts.module, adjoint.rule, adjoint.adjoint, Reach::Itself) {
                self.report(atomic_on_value(adjoint, arg));
            }
            return self.value_adjoint(arg, adders, adjoint.is_pure, out, after);
        }
        let ty = adjoint_type(&arg.ty);
        let is_atomic = adds_atomically(self.facts.module, adjoint.rule, adjoint.adjoint, Reach::All);
        match (adders, address(arg)) {
            (Adders::Private, _) if is_atomic => {
                self.report(atomic_on_variable(adjoint, arg));
                self.vars.zero(&ty)
            }
            (Adders::Private | Adders::Shared | Adders::Anywhere, _) => match self.shadow_pointer(arg) {
                Some(pointer) => as_pointer(pointer, ty),
                None => self.vars.zero(&ty),
            },
            (Adders::Constant, Some(place)) if !is_atomic => match own_variable(place) {
                Some(local) => {
                    let whole = self.vars.function.locals[local].ty.clone();
                    let nothing = self.vars.nothing("_d_unused", &whole, out);
                    Expr::new(ExprKind::AddressOf(moved(place, nothing)), ty)
                }
                None => self.vars.zero(&ty),
            },
            (Adders::Constant, _) => self.vars.zero(&ty),
        }
    }

    /// The same for an argument that is passed by value.
    fn value_adjoint(&mut self, arg: &Expr, adders: Adders, is_pure: bool, out: &mut Block, after: &mut Block) -> Expr {
        match (adders, &arg.kind) {
            (Adders::Private, _) if is_pure => self.argument_adjoint(arg, &arg.ty, out, after),
            // Not the adjoint itself of a variable, which the rule may be given to overwrite too.
            (Adders::Constant | Adders::Private, _) => {
                let name = if adders == Adders::Private { "_d_arg" } else { "_d_unused" };
                let adjoint = self.vars.nothing(name, &arg.ty, out);
                let adjoint = Place::local(adjoint, arg.ty.clone());
                self.adjoint_of_aggregate(arg, &adjoint, after);
                Expr::address_of(adjoint)
            }
            // A record of pointers: its shadow holds those to adjoints.
            (Adders::Shared | Adders::Anywhere, ExprKind::Load(place)) => match self.shadow(place) {
                Some(shadow) => Expr::address_of(shadow),
                None => self.vars.zero(&adjoint_type(&arg.ty)),
            },
            (Adders::Shared | Adders::Anywhere, _) => {
                let message = "a record of pointers that is no variable has no adjoint to hand on";
                self.report(Diagnostic::new(RULE_CONFLICT, arg.span, message, "passed here").help("use a variable"));
                self.vars.zero(&adjoint_type(&arg.ty))
            }
        }
    }
}
