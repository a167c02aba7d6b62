//! Names of records, variables and functions, as they are written from inside a namespace.

use std::collections::{HashMap, HashSet};

use crate::ir::{Function, Module};

/// What a module's names are, to find the shortest way to write one that means it and nothing else.
pub(super) struct Names {
    /// How many items have this last component.
    last_components: HashMap<String, usize>,
    /// Every component that is a namespace, or part of one.
    namespace_components: HashSet<String>,
    all: HashSet<String>,
    /// Whether there are names that are not known here, so that each is written in full outside of its namespace.
    is_in_full: bool,
}

impl Names {
    /// The names of a module.
    pub(super) fn new(module: &Module) -> Names {
        let mut names = Names {
            last_components: HashMap::new(),
            namespace_components: HashSet::new(),
            all: HashSet::new(),
            is_in_full: false,
        };
        let records = module.records.iter().map(|record| &record.name);
        let globals = module.globals.iter().map(|global| &global.name);
        let functions = module.functions.iter().map(|function| &function.name);
        for name in records.chain(globals).chain(functions) {
            let (namespace, last) = split(name);
            *names.last_components.entry(last.to_owned()).or_default() += 1;
            names.namespace_components.extend(components(namespace).map(str::to_owned));
            names.all.insert(name.to_string());
        }
        names
    }

    /// The names of a module that stands among others.
    pub(super) fn among_others(module: &Module) -> Names {
        Names { is_in_full: true, ..Names::new(module) }
    }

    /// How the item `name` is written in `namespace`, inside `function` if that is given.
    pub(super) fn reference(&self, name: &str, namespace: &str, function: Option<&Function>) -> String {
        let (own_namespace, last) = split(name);
        let is_hidden = |component: &str| {
            function.is_some_and(|function| function.locals.iter().any(|local| &*local.name == component))
        };
        if self.is_in_full {
            let is_near = own_namespace == namespace && !is_hidden(last);
            return if is_near { last.to_owned() } else { format!("::{name}") };
        }
        let is_alone =
            self.last_components.get(last).is_none_or(|count| *count <= 1) && !self.namespace_components.contains(last);
        let is_inside = own_namespace == namespace || namespace.starts_with(&format!("{own_namespace}::"));
        if is_alone && !is_hidden(last) && (own_namespace.is_empty() || is_inside) {
            return last.to_owned();
        }
        let first = components(name).next().unwrap_or(name);
        let is_ambiguous = own_namespace.is_empty() || components(namespace).skip(1).any(|part| part == first);
        if is_ambiguous || is_hidden(first) { format!("::{name}") } else { name.to_owned() }
    }

    /// A new item's name, which no item of the module has: the wanted one, or that with underscores.
    pub(super) fn unused(&self, wanted: String) -> String {
        let mut name = wanted;
        while self.all.contains(&name) {
            name.push('_');
        }
        name
    }
}

/// A qualified name as its namespace, which may be empty, and its last component.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.rsplit_once("::").unwrap_or(("", name))
}

/// The namespace of a qualified name.
pub(super) fn namespace_of(name: &str) -> &str {
    split(name).0
}

fn components(namespace: &str) -> impl Iterator<Item = &str> {
    namespace.split("::").filter(|component| !component.is_empty())
}
