//! The printer: a module as C++ text in one of several dialects.
//!
//! What it prints reads as a person would write it, and means the module to the bit: read by Clang and lowered again,
//! the CUDA text gives the same module. Whether a conversion or a parenthesis is printed follows from C++'s own
//! rules (`conversions`, `precedence`), what differs between dialects is data (`dialect`), and lines are broken by one
//! algorithm (`layout`). The same module gives the same text, byte for byte.

#![warn(clippy::wildcard_enum_match_arm)]

mod behind;
mod casts;
mod construct;
mod control;
mod conversions;
mod device;
mod dialect;
mod effects;
mod expr;
mod function;
mod global;
mod layout;
mod literals;
mod metadata;
mod names;
mod operators;
mod place;
mod precedence;
mod record;
mod scope;
mod stmt;
mod structs;
mod types;
mod usage;

use std::collections::BTreeSet;

pub use behind::{Behind, Copied, SharedWith, emit_behind, result_type};
pub use device::device_only;
pub use dialect::{Dialect, VARIABLE_LABEL};
pub use metadata::{Adjoint, Described, Metadata, Parameter, Record, counting, metadata, read_after};
pub use structs::{Struct, StructField};

use layout::Lines;
use names::namespace_of;
use scope::Program;

use crate::ir::{FunctionId, Global, Module};

/// The text of a module: headers, records, variables, functions.
///
/// The module must be valid.
pub fn emit(module: &Module, dialect: Dialect) -> String {
    emit_beside(module, dialect, |_| false)
}

/// The headers that the text of a module needs, with their brackets.
pub fn needed_headers(module: &Module) -> BTreeSet<&str> {
    usage::headers(module)
}

/// The same to stand in a namespace of its own, after a program, some of whose variables it shares.
pub fn emit_beside(module: &Module, dialect: Dialect, is_shared: impl Fn(&Global) -> bool) -> String {
    let program = Program::alone(module, dialect);
    let mut sections = Sections::default();
    let is_included = |header: &&str| program.spellings.headers.is_none_or(|only| only.contains(header));
    for header in usage::headers(module).into_iter().filter(is_included) {
        sections.begin(Kind::Header, "");
        sections.lines.line(&format!("#include {header}"));
    }
    for declared in module.preamble.iter().filter(|line| !line.starts_with('<')) {
        sections.begin(Kind::Declaration, "");
        sections.lines.line(declared);
    }
    for id in record::forward_declared(module) {
        sections.begin(Kind::Declaration, namespace_of(&module.records[id].name));
        record::prototype(&program, &mut sections.lines, id);
    }
    for (id, record) in module.records.entries().filter(|(_, record)| !record.is_builtin) {
        sections.begin(Kind::Definition, namespace_of(&record.name));
        record::definition(&program, &mut sections.lines, id);
    }
    for global in module.globals.iter() {
        sections.begin(Kind::Variable, namespace_of(&global.name));
        if is_shared(global) {
            global::reference(&mut sections.lines, global);
        } else {
            global::definition(&program, &mut sections.lines, global);
        }
    }
    for id in used_before_definition(module) {
        sections.begin(Kind::Declaration, namespace_of(&module.functions[id].name));
        function::prototype(&program, &mut sections.lines, id);
    }
    for (id, function) in module.functions.entries() {
        sections.begin(Kind::Definition, namespace_of(&function.name));
        function::definition(&program, &mut sections.lines, id);
    }
    for registration in function::registrations(&program) {
        sections.begin(Kind::Variable, "");
        sections.lines.line(&registration);
    }
    sections.finish()
}

/// What stands at the top level. Lines of one kind stand together, definitions apart from each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Header,
    Declaration,
    Variable,
    Definition,
}

/// The text in the making, with the namespace that is open.
#[derive(Default)]
struct Sections {
    lines: Lines,
    namespace: String,
    last: Option<Kind>,
}

impl Sections {
    /// Prepares for an item: blank lines and namespaces.
    fn begin(&mut self, kind: Kind, namespace: &str) {
        let is_same_namespace = namespace == self.namespace;
        if !is_same_namespace {
            self.close_namespace();
        }
        let stands_apart = self.last.is_some_and(|last| last != kind || kind == Kind::Definition);
        if stands_apart || (!is_same_namespace && self.last.is_some()) {
            self.lines.blank();
        }
        if !is_same_namespace && !namespace.is_empty() {
            self.lines.line(&format!("namespace {namespace} {{"));
            self.lines.blank();
        }
        self.namespace = namespace.to_owned();
        self.last = Some(kind);
    }

    fn close_namespace(&mut self) {
        if !self.namespace.is_empty() {
            self.lines.blank();
            self.lines.line(&format!("}}  // namespace {}", self.namespace));
        }
    }

    fn finish(mut self) -> String {
        self.close_namespace();
        self.lines.finish()
    }
}

/// Functions that another one names before it stands: recursion.
fn used_before_definition(module: &Module) -> BTreeSet<FunctionId> {
    let mut found = BTreeSet::new();
    for (id, function) in module.functions.entries() {
        found.extend(usage::references(function).into_iter().filter(|callee| *callee > id));
    }
    found
}

#[cfg(test)]
mod tests;
