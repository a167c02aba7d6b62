//! Checks statements.

use std::collections::HashSet;

use super::Checker;
use crate::index::Id;
use crate::ir::{
    BinaryOp, Case, Expr, ExprKind, For, Function, FunctionId, LocalId, OpaqueArg, Place, Space, Stmt, StmtKind,
    Storage, Type, Unread,
};

impl<'m> Checker<'m> {
    pub(super) fn stmt(&mut self, stmt: &'m Stmt) {
        match &stmt.kind {
            StmtKind::Declare { local, init } => self.declare_stmt(*local, init.as_ref()),
            StmtKind::Assign { place, value } => {
                self.value_of_type("the value", value, &place.ty);
                self.store(place);
            }
            StmtKind::Accumulate { place, value } => {
                self.value_of_type("the value", value, &place.ty);
                self.store(place);
                self.require(matches!(place.ty, Type::Float(_)), "an accumulated place is no floating scalar");
            }
            StmtKind::Call { into, function, args } => self.call(into.as_ref(), *function, args),
            StmtKind::If { cond, then_block, else_block } => {
                self.value_of_type("the condition", cond, &Type::Bool);
                self.block(then_block);
                self.block(else_block);
            }
            StmtKind::For(for_loop) => self.for_stmt(for_loop),
            StmtKind::While { cond, body, test: _ } => {
                self.value_of_type("the condition", cond, &Type::Bool);
                self.loops += 1;
                self.breakables += 1;
                self.block(body);
                self.breakables -= 1;
                self.loops -= 1;
            }
            StmtKind::Switch { value, cases } => self.switch(value, cases),
            StmtKind::Break => self.require(self.breakables > 0, "no loop or switch is left"),
            StmtKind::Continue => self.require(self.loops > 0, "no loop is continued"),
            StmtKind::Return(value) => self.return_stmt(value.as_ref()),
            StmtKind::Barrier { kind, argument, into } => self.barrier(*kind, argument.as_ref(), into.as_ref()),
            StmtKind::Atomic { op, scope, place, value, compare, into } => {
                self.atomic((*op, *scope), place, value, compare.as_ref(), into.as_ref());
            }
            StmtKind::Collective { op, mask, args, into } => {
                self.collective(*op, mask.as_ref(), args, into.as_ref());
            }
            StmtKind::Launch(launch) => self.launch(launch),
            StmtKind::Runtime { call, args, into } => {
                self.require(self.is_host(), "a call of the runtime outside host code");
                self.mention(call);
                args.iter().for_each(|arg| self.value(arg));
                into.iter().for_each(|into| self.store(into));
            }
            StmtKind::Push { record, value } => {
                self.local(*record, None);
                self.value(value);
            }
            StmtKind::Pop { record, into } => {
                self.local(*record, None);
                self.store(into);
            }
            StmtKind::Opaque { code, args, into } => {
                match code {
                    Unread::Call(callee) => self.mention(callee),
                    Unread::Passed => {}
                    Unread::Body { .. } => {
                        let is_alone = self.function.is_some_and(|(_, function)| function.unread_body().is_some());
                        self.require(is_alone && !self.is_host(), "a body that is not read among statements");
                    }
                }
                for arg in args {
                    match arg {
                        OpaqueArg::Value(value) => self.value(value),
                        OpaqueArg::Variable(place) => self.store(place),
                        OpaqueArg::Text(_) => {}
                    }
                }
                into.iter().for_each(|into| self.store(into));
            }
        }
    }

    fn declare_stmt(&mut self, id: LocalId, init: Option<&Expr>) {
        if let Some(init) = init {
            self.initial_value(init);
        }
        if let (Some((_, function)), Some(init)) = (self.function, init)
            && let Some(local) = function.locals.get(id)
        {
            self.same_type("the initial value", &init.ty, &local.ty);
            self.require(local.storage == Storage::Private, "shared memory with an initial value");
            let is_bound = !local.ty.is_reference() || init.kind != ExprKind::Null;
            self.require(is_bound, "a reference to nothing");
        }
        self.require(!self.is_counter(id), "a loop's counter is declared apart from its loop");
        self.declare(id);
    }

    fn for_stmt(&mut self, for_loop: &'m For) {
        let For { counter, from, test, to, step, by, body, unroll: _ } = for_loop;
        let local = self.function.and_then(|(_, function)| function.locals.get(*counter));
        let Some(local) = local else { return self.report(format!("there is no local {}", counter.0)) };
        let is_pointer = local.ty.is_pointer();
        self.require(local.storage == Storage::Private, "a loop's counter is shared");
        self.require(is_pointer || local.ty.is_arithmetic(), "a loop's counter is neither arithmetic nor a pointer");
        self.value_of_type("the first value", from, &local.ty);
        self.require(test.is_comparison(), "a loop's test is no comparison");
        let start = self.visible.enter();
        self.declare(*counter);
        if local.ty.is_arithmetic() && to.ty.is_arithmetic() {
            self.value(to);
        } else {
            self.value_of_type("the bound", to, &local.ty);
        }
        self.value(by);
        match step {
            BinaryOp::Add | BinaryOp::Subtract | BinaryOp::Multiply | BinaryOp::Divide => {
                self.require(!is_pointer, "a pointer's step is no offset");
                self.same_type("the step", &by.ty, &local.ty);
            }
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight => {
                self.require(matches!(local.ty, Type::Int(_)), "a shifted counter is no integer");
                self.require(matches!(by.ty, Type::Int(_)), "a shift by what is no integer");
            }
            BinaryOp::Offset => {
                self.require(is_pointer, "the counter of an offset is no pointer");
                self.require(matches!(by.ty, Type::Int(_)), "an offset by what is no integer");
            }
            BinaryOp::Remainder
            | BinaryOp::BitAnd
            | BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterEqual
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Distance => self.report(format!("a counter cannot step by `{}`", step.spelling())),
        }
        self.loops += 1;
        self.breakables += 1;
        self.block(body);
        self.breakables -= 1;
        self.loops -= 1;
        self.visible.leave(start);
    }

    fn switch(&mut self, value: &Expr, cases: &'m [Case]) {
        self.value(value);
        let mut seen = HashSet::new();
        for case_value in cases.iter().flat_map(|case| &case.values) {
            self.require(seen.insert(case_value), &format!("two cases for {case_value}"));
            if let Type::Int(kind) = value.ty {
                let message = format!("the case {case_value} is out of range");
                self.require(kind.wrap(*case_value) == *case_value, &message);
            }
        }
        self.require(matches!(value.ty, Type::Int(_)), "a switch over what is no integer");
        self.require(cases.iter().filter(|case| case.is_default).count() <= 1, "two default cases");
        self.breakables += 1;
        cases.iter().for_each(|case| self.block(&case.body));
        self.breakables -= 1;
    }

    fn return_stmt(&mut self, value: Option<&Expr>) {
        let Some((_, function)) = self.function else { return };
        match value {
            Some(value) => {
                self.value(value);
                self.same_type("the returned value", &value.ty, &function.result);
            }
            None => self.require(function.result == Type::Void, "nothing is returned, but the function has a result"),
        }
    }

    fn call(&mut self, into: Option<&Place>, callee: FunctionId, args: &[Expr]) {
        let Some(function) = self.callee(callee) else { return };
        let expected = if self.is_host() { Space::Host } else { Space::Device };
        self.require(function.space == expected, "a call of a function of another space");
        self.args(function, args);
        if let Some(into) = into {
            self.store(into);
            self.same_type("where the result goes", &into.ty, &function.result);
        }
    }

    /// A function that is called or launched.
    pub(super) fn callee(&mut self, callee: FunctionId) -> Option<&'m Function> {
        let Some(function) = self.module.functions.get(callee) else {
            self.report(format!("there is no function {}", callee.0));
            return None;
        };
        self.mention(&function.name);
        let is_before = self.function.is_some_and(|(caller, _)| callee < caller);
        self.require(is_before, &format!("`{}` is not before the function that calls it", function.name));
        Some(function)
    }

    /// Arguments suit parameters.
    pub(super) fn args(&mut self, function: &Function, args: &[Expr]) {
        args.iter().for_each(|arg| self.value(arg));
        let (given, taken) = (args.len(), function.params.len());
        self.require(given == taken, &format!("`{}` takes {taken} arguments, not {given}", function.name));
        for (arg, &param) in args.iter().zip(&function.params) {
            if let Some(param) = function.locals.get(param) {
                self.same_type(&format!("the argument for `{}`", param.name), &arg.ty, &param.ty);
            }
        }
    }

    /// A local that is used, at a type.
    pub(super) fn local(&mut self, id: LocalId, ty: Option<&Type>) {
        let Some(local) = self.function.and_then(|(_, function)| function.locals.get(id)) else {
            return self.report(format!("there is no local {} here", id.0));
        };
        let is_visible = self.visible.get(&local.name) == Some(id);
        self.require(is_visible, &format!("`{}` is used where it is not declared", local.name));
        if let Some(ty) = ty {
            self.same_type(&format!("the place `{}`", local.name), ty, &local.ty);
        }
    }

    /// Whether a local counts a loop.
    pub(super) fn is_counter(&self, id: LocalId) -> bool {
        self.is_counter.get(id.index()).copied().unwrap_or(false)
    }
}
