//! States and checks what a well-formed module is.
//!
//! Checked, of a module:
//! - names of records, variables and functions are C++ names, no keywords, and differ from each other; fields of a
//!   record and locals are identifiers, and the fields of a record differ;
//! - ids are in range, wherever they stand;
//! - a record contains only records before it (pointers may point to any), so no type is infinitely large; an
//!   alignment is a power of two;
//! - types: `void` only as a result and behind a pointer; no pointer to and no array of references; no array of
//!   length 0 but dynamic shared memory; at most `MAX_TYPE_DEPTH` pointers and arrays;
//! - a variable's initial value has its type and mentions only variables before it; `constexpr` has one;
//! - a function has at most one rule, and one pushforward; rules are about functions of the device and name other ones.
//!
//! Of a function:
//! - the parameters are the first locals, private, and no arrays; the result is no array; a kernel has none; only
//!   kernels have launch bounds, of at least one thread;
//! - it calls and launches only functions before it, so nothing recurs; the host calls host functions and launches
//!   kernels, the device calls device functions;
//! - a local is declared at most once, by `Declare`, as a counter or as a parameter, and used only afterwards in the
//!   same block or inside; its name differs from all locals visible there; nothing that is mentioned (a variable, a
//!   function, a record, a math function) is hidden by a visible local of its name;
//! - shared locals are in device code and have no initial value; dynamic ones are arrays of length 0;
//! - statements and expressions are nested at most `MAX_DEPTH` deep.
//!
//! Of every statement, expression and place: its text under "Valid when" in `stmt` and `expr`, with what follows from
//! the types: constants are in range, operators have operands that they apply to, places have the type that their
//! base gives them, arrays are values only as initial values, nothing is stored through a pointer to `const`, to a
//! `constexpr` or `constant` variable or to a loop's counter, and no pointer through which one could is made to a
//! counter.
//!
//! Not checked: whether names are in the tables of `rules`, and their arguments; whether every path of a function
//! returns; whether code is reached; what references refer to, and that they are never assigned; which variables the
//! host may touch; the sizes of types; that `Accumulate`, `Push` and `Pop` are in derivatives only.
//!
//! The files: `types` for types, records and names, `exprs` for expressions and places, `stmts` for statements,
//! `threads` for statements about several threads.

mod exprs;
mod names;
mod stmts;
#[cfg(test)]
mod tests;
mod threads;
mod types;

use std::collections::HashSet;
use std::fmt;
use std::ops::ControlFlow;

use super::scope::Visible;
use super::walk::{self, Part};
use super::{Block, Function, FunctionId, GlobalId, GlobalStorage, LocalId, MAX_DEPTH, Module, Name, RuleKind, Space};
use super::{Stmt, StmtKind, Storage, Type, text};
use crate::diagnostic::{Diagnostic, INTERNAL};
use crate::index::Id;
use crate::source::Span;

/// After so many violations no more are collected.
const MAX_VIOLATIONS: usize = 100;

/// Something that a well-formed module has not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The record, variable or function it is in.
    pub item: Name,
    /// The first line of the statement it is in, if it is in one.
    pub stmt: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Where it comes from in the user's text.
    pub span: Span,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in `{}`", self.item)?;
        if let Some(stmt) = &self.stmt {
            write!(f, ", at `{stmt}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl From<Violation> for Diagnostic {
    fn from(violation: Violation) -> Diagnostic {
        Diagnostic::new(INTERNAL, violation.span, violation.to_string(), "while translating this")
            .help("this is a bug in Cotangent; please report it with the program that shows it")
    }
}

/// Checks everything that the head of this file lists.
pub fn validate(module: &Module) -> Result<(), Vec<Violation>> {
    let mut checker = Checker::new(module);
    checker.item_names();
    for (id, record) in module.records.entries() {
        checker.begin(&record.name, record.span);
        checker.record(id, record);
    }
    for id in module.globals.ids() {
        checker.global(id);
    }
    for (id, function) in module.functions.entries() {
        checker.begin(&function.name, function.span);
        checker.function(id, function);
    }
    checker.rules();
    if checker.violations.is_empty() { Ok(()) } else { Err(checker.violations) }
}

/// Checks a function as if it had this place in the module, which may hold another form of it.
pub fn validate_function(module: &Module, id: FunctionId, function: &Function) -> Result<(), Vec<Violation>> {
    let mut checker = Checker::new(module);
    checker.begin(&function.name, function.span);
    checker.function(id, function);
    if checker.violations.is_empty() { Ok(()) } else { Err(checker.violations) }
}

/// What was found, and where the check is.
struct Checker<'m> {
    module: &'m Module,
    violations: Vec<Violation>,
    item: Name,
    span: Span,
    stmt: Option<&'m Stmt>,
    /// How many variables may be mentioned.
    earlier_globals: usize,
    function: Option<(FunctionId, &'m Function)>,
    visible: Visible,
    is_declared: Vec<bool>,
    is_counter: Vec<bool>,
    /// How many loops are around the statement.
    loops: usize,
    /// How many loops and switches are.
    breakables: usize,
}

impl<'m> Checker<'m> {
    fn new(module: &'m Module) -> Checker<'m> {
        Checker {
            module,
            violations: Vec::new(),
            item: "".into(),
            span: Span::NONE,
            stmt: None,
            earlier_globals: module.globals.len(),
            function: None,
            visible: Visible::default(),
            is_declared: Vec::new(),
            is_counter: Vec::new(),
            loops: 0,
            breakables: 0,
        }
    }

    fn begin(&mut self, item: &Name, span: Span) {
        self.item = item.clone();
        self.span = span;
        self.stmt = None;
        self.function = None;
        self.visible = Visible::default();
    }

    fn report(&mut self, message: impl Into<String>) {
        if self.violations.len() >= MAX_VIOLATIONS {
            return;
        }
        let mut stmt_text = None;
        if let (Some(stmt), Some((_, function))) = (self.stmt, self.function) {
            let text = text::print_stmt(self.module, function, stmt);
            stmt_text = text.lines().next().map(|line| line.chars().take(100).collect());
        }
        let span = self.stmt.map(|stmt| stmt.span).filter(|span| !span.is_none()).unwrap_or(self.span);
        self.violations.push(Violation { item: self.item.clone(), stmt: stmt_text, message: message.into(), span });
    }

    fn require(&mut self, condition: bool, message: &str) {
        if !condition {
            self.report(message);
        }
    }

    fn item_names(&mut self) {
        let module = self.module;
        let mut seen = HashSet::new();
        let records = module.records.iter().map(|record| (&record.name, record.span));
        let globals = module.globals.iter().map(|global| (&global.name, global.span));
        let functions = module.functions.iter().map(|function| (&function.name, function.span));
        for (name, span) in records.chain(globals).chain(functions) {
            self.begin(name, span);
            self.require(names::is_qualified_name(name), "the name is no C++ name");
            self.require(seen.insert(name), "another record, variable or function has this name");
        }
    }

    fn rules(&mut self) {
        let module = self.module;
        let mut seen = HashSet::new();
        for rule in &module.rules {
            let name = module.functions.get(rule.function).map_or_else(|| "a rule".into(), |found| found.name.clone());
            self.begin(&name, rule.span);
            let is_pushforward = matches!(rule.kind, RuleKind::Pushforward(_));
            self.require(seen.insert((rule.function, is_pushforward)), "it has two rules");
            let named = rule.kind.functions();
            self.require(!named.contains(&rule.function), "its rule names itself");
            for id in named.into_iter().chain([rule.function]) {
                let space = module.functions.get(id).map(|function| function.space);
                self.require(space == Some(Space::Device), "its rule names what is no function of the device");
            }
        }
    }

    fn global(&mut self, id: GlobalId) {
        let global = &self.module.globals[id];
        self.begin(&global.name, global.span);
        self.object_type(&global.ty);
        let is_constexpr = global.storage == GlobalStorage::Constexpr;
        self.require(!is_constexpr || global.init.is_some(), "`constexpr` without a value");
        self.require(!global.is_extern || global.init.is_none(), "`extern` with a value");
        if let Some(init) = &global.init {
            if is_deep(Part::Expr(init), 1) {
                return self.report(format!("nested more than {MAX_DEPTH} deep"));
            }
            self.earlier_globals = id.index();
            self.initial_value(init);
            self.same_type("the initial value", &init.ty, &global.ty);
            self.earlier_globals = self.module.globals.len();
        }
    }

    fn function(&mut self, id: FunctionId, function: &'m Function) {
        if is_deep(Part::Block(&function.body), 0) {
            return self.report(format!("nested more than {MAX_DEPTH} deep"));
        }
        self.function = Some((id, function));
        let is_kernel = function.space == Space::Kernel;
        self.require(!is_kernel || function.result == Type::Void, "a kernel with a result");
        self.require(!matches!(function.result, Type::Array(..)), "the result is an array");
        if function.result != Type::Void {
            self.ty(&function.result);
        }
        if let Some(bounds) = function.launch_bounds {
            self.require(is_kernel, "launch bounds of what is no kernel");
            self.require(bounds.max_threads > 0, "launch bounds of no thread");
        }
        self.is_declared = vec![false; function.locals.len()];
        self.is_counter = vec![false; function.locals.len()];
        walk::each_stmt(&function.body, &mut |stmt| {
            if let StmtKind::For(for_loop) = &stmt.kind
                && let Some(flag) = self.is_counter.get_mut(for_loop.counter.index())
            {
                *flag = true;
            }
        });
        for local in function.locals.iter() {
            self.require(names::is_identifier(&local.name), &format!("the local `{}` is no identifier", local.name));
            self.storage(local.storage, &local.ty);
        }
        let are_first = function.params.iter().enumerate().all(|(index, param)| param.index() == index);
        self.require(are_first, "the parameters are not the first locals");
        for &param in &function.params {
            self.declare(param);
            if let Some(local) = function.locals.get(param) {
                let is_array = matches!(local.ty, Type::Array(..));
                self.require(!is_array && local.storage == Storage::Private, "a parameter is an array or shared");
            }
        }
        self.block(&function.body);
        self.stmt = None;
    }

    /// The type of a local suits its storage.
    fn storage(&mut self, storage: Storage, ty: &Type) {
        match storage {
            Storage::Private => self.object_type(ty),
            Storage::Shared => {
                self.require(self.is_device(), "shared memory in host code");
                self.object_type(ty);
            }
            Storage::DynamicShared => {
                self.require(self.is_device(), "shared memory in host code");
                if let Type::Array(element, 0) = ty {
                    self.object_type(element);
                } else {
                    self.report("dynamic shared memory is no array of length 0");
                }
            }
        }
    }

    /// A local becomes visible, for the first time.
    fn declare(&mut self, id: LocalId) {
        let Some((_, function)) = self.function else { return };
        let Some(local) = function.locals.get(id) else {
            return self.report(format!("there is no local {}", id.0));
        };
        if std::mem::replace(&mut self.is_declared[id.index()], true) {
            self.report(format!("`{}` is declared twice", local.name));
        }
        self.mention_type(&local.ty);
        if self.visible.declare(local.name.clone(), id).is_some() {
            self.report(format!("another local of the name `{}` is visible", local.name));
        }
    }

    /// A name outside the function is used.
    fn mention(&mut self, name: &str) {
        if self.visible.get(name).is_some() {
            self.report(format!("`{name}` is hidden by a local of that name"));
        }
    }

    fn is_device(&self) -> bool {
        self.function.is_some_and(|(_, function)| match function.space {
            Space::Kernel | Space::Device => true,
            Space::Host => false,
        })
    }

    fn is_host(&self) -> bool {
        self.function.is_some_and(|(_, function)| function.space == Space::Host)
    }

    fn block(&mut self, block: &'m Block) {
        let start = self.visible.enter();
        for stmt in block {
            let around = self.stmt.replace(stmt);
            self.stmt(stmt);
            self.stmt = around;
        }
        self.visible.leave(start);
    }
}

/// Whether something at a depth reaches below `MAX_DEPTH`. Recursion ends there, whatever the tree is.
fn is_deep(part: Part<'_>, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let mut go_on = |part| if is_deep(part, depth + 1) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
    match part {
        Part::Expr(expr) => walk::expr_parts(expr, &mut go_on).is_break(),
        Part::Place(place) => walk::place_parts(place, &mut go_on).is_break(),
        // A statement is a level, the block that holds it is none.
        Part::Block(block) => block.iter().any(|stmt| walk::stmt_parts(stmt, &mut go_on).is_break()),
    }
}
