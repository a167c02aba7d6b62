//! Writes modules, functions and statements in the text form.
//!
//! An id that is out of range is written as `` `?` `` and the number, so that an invalid module can be looked at too.
//! Recursion is as deep as the statements and expressions are nested.

use super::words::{
    ATOMICS, BARRIERS, COLLECTIVES, GLOBAL_STORAGES, Numbering, SCOPES, SPACES, STORAGES, push_name, push_quoted, word,
};
use crate::index::{Id, IdVec};
use crate::ir::{
    Block, Case, Expr, For, Function, FunctionId, Global, Launch, Local, LocalId, LoopTest, Module, OpaqueArg, Place,
    Record, Rule, RuleKind, Stmt, StmtKind, Type, Unread, Unroll, walk,
};

/// Text under construction, and what names are taken from.
pub(super) struct Printer<'m> {
    pub(super) module: &'m Module,
    pub(super) locals: Option<&'m IdVec<LocalId, Local>>,
    pub(super) out: String,
    /// None if numbers of locals are not written.
    numbering: Option<Numbering>,
    indent: usize,
}

impl<'m> Printer<'m> {
    /// Begins an empty text. Locals are those of `function`.
    pub(super) fn new(module: &'m Module, function: Option<&'m Function>) -> Printer<'m> {
        let locals = function.map(|function| &function.locals);
        Printer { module, locals, out: String::new(), numbering: None, indent: 0 }
    }

    /// Records, variables and functions, in this order.
    pub(super) fn module(&mut self) {
        for record in self.module.records.iter() {
            self.record(record);
        }
        for global in self.module.globals.iter() {
            self.global(global);
        }
        for function in self.module.functions.iter() {
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            self.function(function);
        }
        for rule in &self.module.rules {
            self.rule(rule);
        }
    }

    fn rule(&mut self, rule: &Rule) {
        self.push("\nrule ");
        self.function_name(rule.function);
        self.push(match rule.kind {
            RuleKind::Pullback(_) => ": pullback ",
            RuleKind::Split { .. } => ": split ",
            RuleKind::Constant => ": constant",
            RuleKind::Pushforward(_) => ": pushforward ",
        });
        for (index, function) in rule.kind.functions().into_iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " });
            self.function_name(function);
        }
        self.push(";\n");
    }

    fn record(&mut self, record: &Record) {
        self.push(if record.is_builtin { "builtin record " } else { "record " });
        self.name(&record.name);
        self.alignment(record.align);
        self.push(" {");
        for (index, field) in record.fields.iter().enumerate() {
            self.push(if index == 0 { " " } else { ", " });
            self.name(&field.name);
            self.push(": ");
            self.ty(&field.ty);
        }
        self.push(" }\n");
    }

    fn global(&mut self, global: &Global) {
        self.push(if global.is_extern { "extern " } else { "" });
        self.push(word(GLOBAL_STORAGES, global.storage));
        self.push(" ");
        self.name(&global.name);
        self.push(": ");
        self.ty(&global.ty);
        self.alignment(global.align);
        if let Some(init) = &global.init {
            self.push(" = ");
            self.expr(init);
        }
        self.push(";\n");
    }

    fn function(&mut self, function: &'m Function) {
        self.locals = Some(&function.locals);
        self.numbering = Some(Numbering::default());
        self.push(word(SPACES, function.space));
        self.push(" ");
        self.name(&function.name);
        self.push("(");
        for (index, &param) in function.params.iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " });
            self.declaration(param);
        }
        self.push(")");
        if function.result != Type::Void {
            self.push(" -> ");
            self.ty(&function.result);
        }
        if let Some(bounds) = function.launch_bounds {
            self.push(" bounds ");
            self.number(bounds.max_threads);
            if let Some(min_blocks) = bounds.min_blocks {
                self.push(", ");
                self.number(min_blocks);
            }
        }
        self.push(if function.is_extern_c { " extern {\n" } else { " {\n" });
        self.indent = 1;
        for local in undeclared(function) {
            self.push("  unused ");
            self.declaration(local);
            self.push(";\n");
        }
        for stmt in &function.body {
            self.stmt(stmt);
        }
        self.indent = 0;
        self.push("}\n");
        self.locals = None;
    }

    /// The storage, name, number and type of a local where it is declared.
    fn declaration(&mut self, id: LocalId) {
        let Some(local) = self.locals.and_then(|locals| locals.get(id)) else {
            return self.missing(id);
        };
        let storage = word(STORAGES, local.storage);
        if !storage.is_empty() {
            self.push(storage);
            self.push(" ");
        }
        self.name(&local.name);
        if let Some(numbering) = &mut self.numbering {
            let is_expected = numbering.lowest_free() == id.0;
            numbering.take(id.0);
            if !is_expected {
                self.push("#");
                self.number(id.0);
            }
        }
        self.push(": ");
        self.ty(&local.ty);
        self.alignment(local.align);
    }

    fn alignment(&mut self, align: Option<u32>) {
        if let Some(align) = align {
            self.push(" align ");
            self.number(align);
        }
    }

    /// One statement on lines of its own.
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        self.begin_line();
        self.stmt_text(stmt);
        self.push("\n");
    }

    fn stmt_text(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Declare { local, init } => {
                self.push("let ");
                self.declaration(*local);
                if let Some(init) = init {
                    self.push(" = ");
                    self.expr(init);
                }
            }
            StmtKind::Assign { place, value } => {
                self.place(place);
                self.push(" = ");
                self.expr(value);
            }
            StmtKind::Accumulate { place, value } => {
                self.place(place);
                self.push(" += ");
                self.expr(value);
            }
            StmtKind::Call { into, function, args } => {
                self.into(into.as_ref());
                self.push("call ");
                self.function_name(*function);
                self.args(args);
            }
            StmtKind::If { cond, then_block, else_block } => return self.if_stmt(cond, then_block, else_block),
            StmtKind::For(for_loop) => return self.for_stmt(for_loop),
            StmtKind::While { cond, body, test: LoopTest::Before } => {
                self.push("while ");
                self.expr(cond);
                return self.block(body);
            }
            StmtKind::While { cond, body, test: LoopTest::After } => {
                self.push("do");
                self.block(body);
                self.push(" while ");
                self.expr(cond);
            }
            StmtKind::Switch { value, cases } => return self.switch_stmt(value, cases),
            StmtKind::Break => self.push("break"),
            StmtKind::Continue => self.push("continue"),
            StmtKind::Return(value) => {
                self.push("return");
                if let Some(value) = value {
                    self.push(" ");
                    self.expr(value);
                }
            }
            StmtKind::Barrier { kind, argument, into } => {
                self.into(into.as_ref());
                self.push("barrier ");
                self.push(word(BARRIERS, *kind));
                if let Some(argument) = argument {
                    self.args(std::slice::from_ref(argument));
                }
            }
            StmtKind::Atomic { op, scope, place, value, compare, into } => {
                self.into(into.as_ref());
                self.push("atomic ");
                let scope = word(SCOPES, *scope);
                self.push(scope);
                self.push(if scope.is_empty() { "" } else { " " });
                self.push(word(ATOMICS, *op));
                self.push("(");
                self.place(place);
                for operand in compare.iter().chain([value]) {
                    self.push(", ");
                    self.expr(operand);
                }
                self.push(")");
            }
            StmtKind::Collective { op, mask, args, into } => {
                self.into(into.as_ref());
                self.push("collective ");
                self.push(word(COLLECTIVES, *op));
                if let Some(mask) = mask {
                    self.push("[");
                    self.expr(mask);
                    self.push("]");
                }
                self.args(args);
            }
            StmtKind::Launch(launch) => self.launch(launch),
            StmtKind::Runtime { call, args, into } => {
                self.into(into.as_ref());
                self.push("runtime ");
                self.name(call);
                self.args(args);
            }
            StmtKind::Push { record, value } => {
                self.push("push ");
                self.expr(value);
                self.push(" to ");
                self.local_name(*record);
            }
            StmtKind::Pop { record, into } => {
                self.push("pop ");
                self.place(into);
                self.push(" from ");
                self.local_name(*record);
            }
            StmtKind::Opaque { code, args, into } => {
                self.into(into.as_ref());
                match code {
                    Unread::Call(callee) => {
                        self.push("opaque ");
                        self.name(callee);
                    }
                    Unread::Passed => self.push("passed"),
                    Unread::Body { spelling, meets } => {
                        self.push(if *meets { "unread meeting " } else { "unread " });
                        push_quoted(&mut self.out, spelling, '"');
                    }
                }
                self.push("(");
                for (index, arg) in args.iter().enumerate() {
                    self.push(if index == 0 { "" } else { ", " });
                    match arg {
                        OpaqueArg::Value(value) => self.expr(value),
                        OpaqueArg::Text(text) => push_quoted(&mut self.out, text, '"'),
                        OpaqueArg::Variable(place) => {
                            self.push("changed ");
                            self.place(place);
                        }
                    }
                }
                self.push(")");
            }
        }
        self.push(";");
    }

    fn if_stmt(&mut self, cond: &Expr, then_block: &Block, else_block: &Block) {
        self.push("if ");
        self.expr(cond);
        self.block(then_block);
        match else_block.as_slice() {
            [] => {}
            [only @ Stmt { kind: StmtKind::If { .. }, .. }] => {
                self.push(" else ");
                self.stmt_text(only);
            }
            _ => {
                self.push(" else");
                self.block(else_block);
            }
        }
    }

    fn for_stmt(&mut self, for_loop: &For) {
        self.push("for ");
        self.declaration(for_loop.counter);
        self.push(" = ");
        self.expr(&for_loop.from);
        self.push("; ");
        self.local_name(for_loop.counter);
        self.push(" ");
        self.push(for_loop.test.spelling());
        self.push(" ");
        self.expr(&for_loop.to);
        self.push("; ");
        self.local_name(for_loop.counter);
        self.push(" ");
        self.push(for_loop.step.spelling());
        self.push("= ");
        self.expr(&for_loop.by);
        match for_loop.unroll {
            Some(Unroll::Whole) => self.push(" unroll"),
            Some(Unroll::By(count)) => self.push(&format!(" unroll {count}")),
            None => {}
        }
        self.block(&for_loop.body);
    }

    fn switch_stmt(&mut self, value: &Expr, cases: &[Case]) {
        self.push("switch ");
        self.expr(value);
        self.push(" {\n");
        self.indent += 1;
        for case in cases {
            self.begin_line();
            self.push("case");
            let mut separator = " ";
            for value in &case.values {
                self.push(separator);
                self.number(*value);
                separator = ", ";
            }
            if case.is_default {
                self.push(separator);
                self.push("default");
            }
            self.block(&case.body);
            self.push("\n");
        }
        self.indent -= 1;
        self.begin_line();
        self.push("}");
    }

    fn launch(&mut self, launch: &Launch) {
        self.push("launch ");
        self.function_name(launch.kernel);
        self.push("<<<[");
        self.list(&launch.grid);
        self.push("], [");
        self.list(&launch.block);
        self.push("]");
        if let Some(shared) = &launch.shared {
            self.push(", shared: ");
            self.expr(shared);
        }
        if let Some(stream) = &launch.stream {
            self.push(", stream: ");
            self.expr(stream);
        }
        if launch.is_checked {
            self.push(", checked");
        }
        self.push(">>>");
        self.args(&launch.args);
    }

    fn block(&mut self, block: &Block) {
        self.push(" {\n");
        self.indent += 1;
        for stmt in block {
            self.stmt(stmt);
        }
        self.indent -= 1;
        self.begin_line();
        self.push("}");
    }

    fn into(&mut self, into: Option<&Place>) {
        if let Some(place) = into {
            self.place(place);
            self.push(" = ");
        }
    }

    /// Expressions in parentheses.
    pub(super) fn args(&mut self, args: &[Expr]) {
        self.push("(");
        self.list(args);
        self.push(")");
    }

    fn list(&mut self, exprs: &[Expr]) {
        for (index, expr) in exprs.iter().enumerate() {
            self.push(if index == 0 { "" } else { ", " });
            self.expr(expr);
        }
    }

    fn function_name(&mut self, id: FunctionId) {
        match self.module.functions.get(id) {
            Some(function) => self.name(&function.name),
            None => self.missing(id),
        }
    }

    /// The name of a local.
    pub(super) fn local_name(&mut self, id: LocalId) {
        match self.locals.and_then(|locals| locals.get(id)) {
            Some(local) => self.name(&local.name),
            None => self.missing(id),
        }
    }

    /// What stands for an id that is out of range.
    pub(super) fn missing(&mut self, id: impl Id) {
        self.push("`?");
        self.number(id.index());
        self.push("`");
    }

    /// A name, quoted if it must be.
    pub(super) fn name(&mut self, name: &str) {
        push_name(&mut self.out, name);
    }

    /// A decimal number.
    pub(super) fn number(&mut self, number: impl ToString) {
        self.out.push_str(&number.to_string());
    }

    /// A piece of text as it is.
    pub(super) fn push(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn begin_line(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }
}

/// Locals which are no parameters and which no statement declares, in the order of the table.
fn undeclared(function: &Function) -> Vec<LocalId> {
    let mut is_declared = vec![false; function.locals.len()];
    let mut declare = |local: LocalId| {
        if let Some(flag) = is_declared.get_mut(local.index()) {
            *flag = true;
        }
    };
    function.params.iter().for_each(|&param| declare(param));
    walk::each_stmt(&function.body, &mut |stmt| walk::declared_local(stmt).into_iter().for_each(&mut declare));
    function.locals.ids().filter(|local| !is_declared[local.index()]).collect()
}
