//! What lowering knows about the whole module.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::declarations::Declarations;
use super::passes::Passes;
use crate::clang::{Node, NodeId};
use crate::diagnostic::{self, Code, Diagnostic};
use crate::ir::walk::{self, NodeMut};
use crate::ir::{Function, FunctionId, GlobalId, Module, Name, RecordId, Stmt, StmtKind};
use crate::source::Span;

/// A result whose error is a problem of the user's program.
pub(super) type Lowered<T> = Result<T, Problem>;

/// Why something could not be lowered.
#[derive(Debug)]
pub(super) enum Problem {
    /// This is why; nobody has reported it yet.
    New(Box<Diagnostic>),
    /// The reason was reported already.
    Reported,
}

/// Which of Clang's two passes a declaration is from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Pass {
    /// The device's.
    Device,
    /// The host's.
    Host,
}

/// How far a function's lowering is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is being lowered now: a call of it is recursion.
    Running,
    /// It is in the module.
    Done(FunctionId),
    /// It could not be lowered; that was reported.
    Failed,
}

/// The state of lowering one module.
pub(super) struct Context<'a> {
    pub(super) module: Module,
    pub(super) device: Declarations<'a>,
    pub(super) host: Option<Declarations<'a>>,
    pub(super) functions: HashMap<(Pass, NodeId), Progress>,
    pub(super) records: HashMap<(Pass, NodeId), RecordId>,
    /// The same by place, name and fields, which are the same in both passes.
    pub(super) same_records: HashMap<(Span, String, String), RecordId>,
    pub(super) globals: HashMap<(Pass, NodeId), GlobalId>,
    /// Where a lambda's captured variables are: for its call operator, the variable and the field.
    pub(super) captures: HashMap<(Pass, NodeId), Vec<Capture>>,
    /// The lambda that a spelling means, where several instantiations of a template share it: the last one met.
    pub(super) lambdas: HashMap<(Pass, String), NodeId>,
    /// The namespaces and records around what is being lowered, with a trailing `::`: names in types start there.
    pub(super) scope: String,
    /// Variables outside functions whose initial values are being lowered.
    pub(super) open_globals: HashSet<(Pass, NodeId)>,
    /// Functions of the program that the standard library may call by itself, once somebody asks.
    pub(super) called_by_library: OnceCell<Vec<&'a Node>>,
    /// Texts outside functions that code may change which is passed through: what is read may not mention them.
    pub(super) texts_apart: HashSet<&'a str>,
    /// Whether the program asks for more shared memory than kernels have by themselves.
    pub(super) asks_for_shared: bool,
    /// Records whose values run a destructor of the user's.
    pub(super) destructors: HashSet<RecordId>,
    /// Classes of host code that were tried, and those that cannot be read.
    pub(super) unread_classes: HashMap<NodeId, Option<UnreadClass>>,
    /// How many types are being looked up inside one another.
    pub(super) type_depth: usize,
    /// Functions that rules are about, and those that they name: the device's, which need not be read.
    pub(super) ruled: HashSet<NodeId>,
    /// The functions of the device that were asked for, which must be.
    pub(super) asked: HashSet<NodeId>,
    /// Names outside functions that are taken.
    pub(super) taken: HashSet<Name>,
    diagnostics: Vec<Diagnostic>,
}

/// A class that cannot be read.
#[derive(Clone, Debug)]
pub(super) struct UnreadClass {
    /// How it is called at the end of the program's text.
    pub(super) name: Name,
    /// Why it is not read.
    pub(super) reason: Box<Diagnostic>,
}

/// A variable that a lambda captured.
#[derive(Clone, Debug)]
pub(super) struct Capture {
    /// The variable outside; `None` for `this`.
    pub(super) variable: Option<NodeId>,
    /// The field that holds it.
    pub(super) field: u32,
    /// Whether the field is a pointer to it.
    pub(super) by_reference: bool,
}

impl<'a> Context<'a> {
    pub(super) fn new(passes: Passes<'a>) -> Context<'a> {
        Context {
            module: Module::default(),
            device: Declarations::new(passes.device),
            host: passes.host.map(Declarations::new),
            functions: HashMap::new(),
            records: HashMap::new(),
            same_records: HashMap::new(),
            globals: HashMap::new(),
            captures: HashMap::new(),
            lambdas: HashMap::new(),
            scope: String::new(),
            open_globals: HashSet::new(),
            called_by_library: OnceCell::new(),
            texts_apart: HashSet::new(),
            asks_for_shared: false,
            destructors: HashSet::new(),
            unread_classes: HashMap::new(),
            type_depth: 0,
            ruled: HashSet::new(),
            asked: HashSet::new(),
            taken: HashSet::new(),
            diagnostics: Vec::new(),
        }
    }

    /// The declarations of a pass.
    pub(super) fn declarations(&self, pass: Pass) -> &Declarations<'a> {
        match pass {
            Pass::Device => &self.device,
            Pass::Host => self.host.as_ref().unwrap_or(&self.device),
        }
    }

    /// Reports a problem once.
    pub(super) fn report(&mut self, problem: Problem) {
        if let Problem::New(diagnostic) = problem
            && !self.diagnostics.contains(&diagnostic)
        {
            self.diagnostics.push(*diagnostic);
        }
    }

    /// Takes back the problems that were reported last: they do not matter after all.
    pub(super) fn forget_problems(&mut self, kept: usize) {
        self.diagnostics.truncate(kept);
    }

    /// How many problems were reported so far.
    pub(super) fn problems(&self) -> usize {
        self.diagnostics.len()
    }

    /// A name outside functions that nothing else has: the wanted one, or one with a number.
    pub(super) fn claim(&mut self, wanted: &str) -> Name {
        let name = super::names::first_free(wanted, |name| self.taken.contains(name));
        self.taken.insert(name.clone());
        name
    }

    /// Adds a function.
    pub(super) fn add(&mut self, function: Function) -> FunctionId {
        self.module.functions.push(function)
    }

    /// Takes back the functions that were added last, which nothing calls after all.
    pub(super) fn forget_functions(&mut self, kept: usize) {
        for name in self.module.functions.iter().skip(kept).map(|function| &function.name) {
            self.taken.remove(name);
        }
        self.module.functions.truncate(kept);
        let functions = &self.module.functions;
        self.functions.retain(|_, progress| !matches!(progress, Progress::Done(id) if functions.get(*id).is_none()));
    }

    /// The module and what was wrong.
    pub(super) fn finish(mut self) -> (Module, Vec<Diagnostic>) {
        if self.asks_for_shared {
            self.module.functions.iter_mut().for_each(|function| ask_at_launches(&mut function.body));
        }
        (self.module, self.diagnostics)
    }
}

/// Has launches with dynamic shared memory ask for as much as they need.
fn ask_at_launches(block: &mut [Stmt]) {
    let _ = walk::visit_block_mut(block, &mut |node| {
        if let NodeMut::Stmt(Stmt { kind: StmtKind::Launch(launch), .. }) = node {
            launch.is_checked |= launch.shared.is_some();
        }
        ControlFlow::<()>::Continue(())
    });
}

/// A problem at a place, as an error.
pub(super) fn problem<T>(code: Code, span: Span, message: impl Into<String>, label: impl Into<String>) -> Lowered<T> {
    Err(Problem::New(Box::new(Diagnostic::new(code, span, message, label))))
}

/// A problem with a way out, as an error.
pub(super) fn problem_with_help<T>(
    code: Code,
    span: Span,
    message: impl Into<String>,
    label: impl Into<String>,
    help: impl Into<String>,
) -> Lowered<T> {
    Err(Problem::New(Box::new(Diagnostic::new(code, span, message, label).help(help))))
}

/// A contradiction in what Clang gave: never expected, and never a panic.
pub(super) fn broken<T>(span: Span, what: &str) -> Lowered<T> {
    problem(diagnostic::BROKEN_DUMP, span, format!("Clang's dump has {what}"), "here")
}
