//! The tables and the headers agree: what is declared has a row, what has a row is declared, and the rows say what the
//! declarations say.

use std::collections::{BTreeMap, BTreeSet};

use super::super::unsupported::unsupported_runtime_functions;
use super::*;

const CUDA: &str = include_str!("../../../../../include/parse/cotangent/runtime_api.h");
const TYPES: &str = include_str!("../../../../../include/common/driver_types.h");
/// With what it includes.
const OWN: &str = concat!(
    include_str!("../../../../../include/cotangent/runtime.hpp"),
    include_str!("../../../../../include/cotangent/host_tape.hpp"),
    include_str!("../../../../../include/cotangent/steps.hpp"),
    include_str!("../../../../../include/cotangent/checkpoint.hpp")
);

/// Functions of these headers that only they themselves call.
const HELPERS: &[&str] = &[
    "add_and_clear",
    "allocation_of",
    "check",
    "check_pending",
    "described",
    "drops_pending",
    "extent_of",
    "host_memory",
    "is_on_host",
    "kernel_name",
    "launch_add_and_clear",
    "memory_type",
    "snapshot_bytes",
    "snapshot_limit",
    "unchecked_launch",
];

/// A function as a header declares it.
struct Declared {
    /// What stands in front of the name, with `template <…>`.
    result: String,
    parameters: Vec<String>,
}

/// The functions that stand outside of bodies, `depth` braces deep, by name; of several of one name the first.
fn declared(text: &'static str, depth: usize) -> BTreeMap<&'static str, Declared> {
    let mut found = BTreeMap::new();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut depth_here = 0;
    let mut before: usize = 0;
    let mut skipped_to = 0;
    for (at, letter) in text.char_indices() {
        if at < skipped_to {
            continue;
        }
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let is_code = !text[line..].trim_start().starts_with(['#', '/']);
        match letter {
            '{' => depth_here += 1,
            '}' => depth_here -= 1,
            '(' if depth_here == depth && is_code => {
                let name = text[..at].rsplit(|letter| !is_letter(letter)).next().unwrap_or("");
                let end = text[at..].find([';', '{']).map_or(text.len(), |length| at + length);
                let list = text[at + 1..end].rsplit_once(')').map_or("", |(list, _)| list);
                let parameters = list.split(',').map(|parameter| parameter.trim().to_owned()).collect();
                let result = text[before..at - name.len()].to_owned();
                found.entry(name).or_insert(Declared { result, parameters });
                skipped_to = end;
            }
            _ => {}
        }
        if [';', '{', '}'].contains(&letter) && depth_here <= depth {
            before = at + 1;
        }
    }
    found
}

/// CUDA's functions: in C's linkage, and the forms of C++ that have no other.
fn of_cuda() -> BTreeMap<&'static str, Declared> {
    let mut found = declared(CUDA, 1);
    for (name, function) in declared(CUDA, 0) {
        found.entry(name).or_insert(function);
    }
    found.retain(|name, _| name.starts_with("cuda") || name.starts_with("__cuda"));
    assert!(found.len() > 80, "{:?}", found.keys());
    found
}

#[test]
fn every_declared_function_of_the_runtime_is_in_one_table() {
    for name in of_cuda().keys() {
        let is_refused = unsupported_runtime_functions().any(|known| known == *name);
        let how = match (is_of_runtime(name), is_refused) {
            (true, true) => "in both tables",
            (false, false) => "in neither table",
            (true, false) | (false, true) => continue,
        };
        panic!("`{name}` of include/parse is {how} (rules/runtime/table.rs, rules/unsupported.rs)");
    }
}

#[test]
fn every_function_of_the_tables_is_declared_once() {
    let declared = of_cuda();
    let known = rows().map(|row| row.name).filter(|name| name.starts_with("cuda"));
    for name in known.chain(unsupported_runtime_functions()) {
        assert!(declared.contains_key(name), "`{name}` is in a table and not declared");
    }
    let mut names: Vec<&str> = rows().map(|row| row.name).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|one, other| one < other), "a function has two rows");
}

#[test]
fn every_function_of_our_own_header_is_in_the_table_or_a_helper_of_it() {
    let declared: BTreeSet<&str> = declared(OWN, 1).into_keys().collect();
    let own = rows().filter_map(|row| row.name.strip_prefix("cotangent::"));
    let known: BTreeSet<&str> = own.chain(HELPERS.iter().copied()).collect();
    let missing: Vec<_> = known.difference(&declared).collect();
    assert!(missing.is_empty(), "in the table, and in no header: {missing:?}");
    let new: Vec<_> = declared.difference(&known).collect();
    assert!(new.is_empty(), "in a header, and neither in the table nor a helper: {new:?}");
}

#[test]
fn rows_return_what_is_declared() {
    for (name, function) in declared(OWN, 1) {
        let Some(returns) = runtime_returns(&format!("cotangent::{name}")) else { continue };
        let declared = match function.result.trim().rsplit_once('\n') {
            Some((first, "T*")) if first.ends_with("template <class T>") => Returns::PointerToAsked,
            Some((first, "T")) if first.ends_with("template <class T>") => Returns::Asked,
            Some(_) | None => Returns::Declared,
        };
        assert_eq!(returns, declared, "`{name}` returns `{}`", function.result);
    }
    for row in rows().filter(|row| !row.name.starts_with("cotangent::")) {
        assert_eq!(row.returns, Returns::Declared, "{}", row.name);
    }
}

#[test]
fn rows_take_the_enumerations_that_are_declared() {
    let is_enumeration = |ty: &str| ty == "cudaError_t" || TYPES.contains(&format!("\nenum {ty} {{"));
    let of_cuda = of_cuda().into_iter().map(|(name, function)| (name.to_owned(), function));
    let own = declared(OWN, 1).into_iter().map(|(name, function)| (format!("cotangent::{name}"), function));
    for (name, function) in of_cuda.chain(own).filter(|(name, _)| is_runtime(name)) {
        for (position, parameter) in function.parameters.iter().enumerate() {
            let ty = parameter.split(' ').next().unwrap_or("");
            let declared = Some(ty).filter(|ty| is_enumeration(ty));
            let known = runtime_enumeration(&name, position).map(|enumeration| enumeration.name);
            assert_eq!(known, declared, "parameter {position} of `{name}`");
        }
    }
}

#[test]
fn enumerators_have_the_values_that_are_declared() {
    for enumeration in rows().filter_map(|row| row.takes).map(|(_, enumeration)| enumeration) {
        for (value, name) in enumeration.enumerators {
            let is_declared = |number: String| TYPES.contains(&format!("  {name} = {number},"));
            let is_right = is_declared(value.to_string()) || is_declared(format!("{value:#04x}"));
            assert!(is_right, "{name} is not {value}");
        }
    }
}

#[test]
fn calls_that_derivatives_make_are_in_the_table() {
    for row in rows() {
        let called = match row.class {
            RuntimeClass::Allocate { maker } => vec![maker],
            RuntimeClass::Memory { zeros, free } => vec![zeros, free],
            RuntimeClass::Move(moved) => {
                let source = moved.from.map(|source| [source.add.name, source.add_at_once]);
                [moved.clear.name].into_iter().chain(source.into_iter().flatten()).collect()
            }
            RuntimeClass::Symbol(symbol) => {
                let source = symbol.source;
                vec![source.add.name, source.add_at_once, symbol.clear.name, symbol.copy.name, symbol.copy_async]
            }
            RuntimeClass::Create { wait, destroy } => wait.into_iter().chain([destroy]).collect(),
            RuntimeClass::Free { .. }
            | RuntimeClass::Destroy
            | RuntimeClass::Synchronize
            | RuntimeClass::Record
            | RuntimeClass::WaitFor
            | RuntimeClass::Query
            | RuntimeClass::Own => Vec::new(),
        };
        for call in called {
            assert!(is_runtime(call), "`{}` needs `{call}`, which has no row", row.name);
        }
    }
}
