//! What names stand for. Scopes hide the names outside of them: inline assembly and calls declare their own.

use std::collections::HashMap;

use crate::program::{Register, Slot};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Register(Register),
    /// In the function's frame: a local variable, a parameter of a call, or a parameter of the function itself.
    Frame(Slot),
    /// A parameter of the kernel.
    Kernel(Slot),
    Shared(u32),
    Address(u64),
    Function(u32),
    /// Into the labels of the function.
    Label(u32),
    Targets(Vec<u32>),
}

/// The names of one scope.
#[derive(Default)]
pub(super) struct Scope<'a> {
    names: HashMap<&'a str, Name>,
    /// `%r<5>`: the name without its number, how many there are, and the first.
    ranges: Vec<(&'a str, u32, Register)>,
}

/// Scopes, the innermost last, around them what the module declares.
pub(super) struct Names<'a, 'm> {
    module: &'m HashMap<&'a str, Name>,
    scopes: Vec<Scope<'a>>,
}

impl<'a, 'm> Names<'a, 'm> {
    pub(super) fn new(module: &'m HashMap<&'a str, Name>) -> Names<'a, 'm> {
        Names { module, scopes: Vec::new() }
    }

    pub(super) fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn add(&mut self, name: &'a str, meaning: Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.names.insert(name, meaning);
        }
    }

    pub(super) fn add_registers(&mut self, name: &'a str, count: u32, first: Register) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.ranges.push((name, count, first));
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Name> {
        self.scopes.iter().rev().find_map(|scope| scope.find(name)).or_else(|| self.module.get(name).cloned())
    }
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<Name> {
        if let Some(known) = self.names.get(name) {
            return Some(known.clone());
        }
        let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
        let number: u32 = name[stem.len()..].parse().ok()?;
        let (_, _, first) = self.ranges.iter().find(|(range, count, _)| *range == stem && number < *count)?;
        Some(Name::Register(first + number))
    }
}
