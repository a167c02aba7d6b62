//! Where code is printed: the module, what is known about it as a whole, and which names mean what.

use super::dialect::{Dialect, Spellings, spellings};
use super::names::{Names, namespace_of};
use super::usage::{Usage, usages};
use crate::index::IdVec;
use crate::ir::{Function, FunctionId, Local, LocalId, Module};

/// The module and what is known about it as a whole.
pub(super) struct Program<'a> {
    pub(super) module: &'a Module,
    pub(super) spellings: &'static Spellings,
    pub(super) usages: IdVec<FunctionId, Usage>,
    pub(super) names: Names,
    /// Whether it stands in the same file as the user's program: what other files have of the same name is no concern.
    pub(super) is_part_of_file: bool,
}

impl<'a> Program<'a> {
    /// A module that stands in a file of its own.
    pub(super) fn alone(module: &'a Module, dialect: Dialect) -> Program<'a> {
        Program {
            module,
            spellings: spellings(dialect),
            usages: usages(module),
            names: Names::new(module),
            is_part_of_file: false,
        }
    }

    /// The qualified name of the function that launches a kernel on the CPU.
    pub(super) fn launcher_name(&self, kernel: FunctionId) -> String {
        self.names.unused(format!("{}_launch", self.module.functions[kernel].name))
    }
}

/// Where code is printed: which names mean what.
pub(super) struct Scope<'a> {
    pub(super) program: &'a Program<'a>,
    /// The namespace around.
    pub(super) namespace: &'a str,
    /// The function around; none in the initial value of a variable outside functions.
    pub(super) function: Option<&'a Function>,
    /// The name of the parameter that holds the thread's coordinates, in dialects that have one.
    pub(super) thread: String,
}

impl<'a> Scope<'a> {
    pub(super) fn of_function(program: &'a Program<'a>, function: &'a Function) -> Scope<'a> {
        Scope {
            program,
            namespace: namespace_of(&function.name),
            function: Some(function),
            thread: thread_name(function),
        }
    }

    /// The scope of what stands outside functions, next to the item of that name.
    pub(super) fn of_item(program: &'a Program<'a>, name: &'a str) -> Scope<'a> {
        Scope { program, namespace: namespace_of(name), function: None, thread: String::new() }
    }

    pub(super) fn local(&self, local: LocalId) -> &'a Local {
        let function = self.function.expect("the validator has locals in functions only");
        &function.locals[local]
    }

    pub(super) fn local_name(&self, local: LocalId) -> &'a str {
        &self.local(local).name
    }

    pub(super) fn reference(&self, name: &str) -> String {
        self.program.names.reference(name, self.namespace, self.function)
    }

    pub(super) fn function_name(&self, function: FunctionId) -> String {
        self.reference(&self.program.module.functions[function].name)
    }
}

/// A name for the thread parameter that no variable of the function has.
fn thread_name(function: &Function) -> String {
    let mut name = String::from("thread");
    while function.locals.iter().any(|local| *local.name == name) {
        name.push('_');
    }
    name
}
