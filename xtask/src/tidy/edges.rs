//! Which module of the compiler may name which, and what it may take from the standard library. The table is the
//! architecture; a new module needs a row, here and in ARCHITECTURE.md.

use super::complaint::Complaint;
use super::paths::{module_of, named_paths};
use crate::workspace::SourceFile;

/// Where the modules lie.
const COMPILER: &str = "crates/cotangent/src/";

/// Where the table is repeated for people.
const PAGE: &str = "ARCHITECTURE.md";

/// Spans, typed ids and errors as data: every module may use them, and they know nothing but each other.
const BASE: &[&str] = &["source", "index", "diagnostic"];

/// A module, and which others it may name besides [`BASE`] and itself.
const MAY_USE: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("index", &[]),
    ("diagnostic", &[]),
    // A typed, partial view of Clang's dump. Names no IR type.
    ("clang", &[]),
    // The IR. Knows neither C++ nor Clang nor derivatives.
    ("ir", &[]),
    // Math functions, CUDA calls and intrinsics as tables. Looks at no program.
    ("rules", &["ir"]),
    // From Clang to the IR. Does not know that differentiation exists.
    ("lower", &["clang", "ir", "rules"]),
    // The user's own text with a few edits at Clang's offsets. Knows no IR, so that it stays an independent oracle.
    ("direct", &["clang"]),
    // Facts about a module. Changes none.
    ("analysis", &["ir", "rules"]),
    // From module to module. Prints no C++ and derives no facts.
    ("transform", &["ir", "rules", "analysis"]),
    // The printer. Decides nothing about derivatives.
    ("emit", &["ir", "rules"]),
    // Derivatives that a program asks for in its text: finds the requests, and writes the answers into a copy of it.
    ("requests", &["clang", "ir", "direct", "emit"]),
    // Variables of a host function as parameters, in a copy of the user's text.
    ("exposed", &["clang", "direct"]),
    // The one screen that shows the data flow.
    ("lib", &["clang", "ir", "rules", "lower", "direct", "analysis", "transform", "emit", "requests", "exposed"]),
];

/// The compiler is pure: these belong to the driver.
const FORBIDDEN: &[&str] = &["fs", "process", "env", "time", "net", "thread"];

/// Files that only tests contain: they may measure, and read themselves.
const ONLY_IN_TESTS: &[&str] = &["ir/text/properties.rs"];

/// Checks one Rust file; those outside the compiler pass.
pub(super) fn check(file: &SourceFile) -> Vec<Complaint> {
    let Some(inside) = file.path.strip_prefix(COMPILER) else { return Vec::new() };
    let module = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == module) else {
        let message = format!("module `{module}` has no row in the table of xtask/src/tidy/edges.rs");
        return vec![Complaint::new(&file.path, 1, message)];
    };
    let Ok(tokens) = file.text.parse() else { return Vec::new() };
    let mut complaints = Vec::new();
    for path in named_paths(tokens, &module_of(inside)) {
        let [first, second, ..] = path.segments.as_slice() else { continue };
        let is_module = |name: &str| MAY_USE.iter().any(|(module, _)| *module == name);
        let may_name = |name: &str| name == module || BASE.contains(&name) || allowed.contains(&name);
        let message = match first.as_str() {
            "crate" if is_module(second) && !may_name(second) => {
                format!("`{module}` must not name `{second}`")
            }
            "std" if FORBIDDEN.contains(&second.as_str()) && !ONLY_IN_TESTS.contains(&inside) => {
                format!("the compiler is pure: std::{second} belongs to the driver")
            }
            _ => continue,
        };
        complaints.push(Complaint::new(&file.path, path.line, message));
    }
    complaints
}

/// Checks that the table in ARCHITECTURE.md says what this one does: a row for each module, in this order, whose first
/// cell is the module and whose second is what it may use.
pub(super) fn check_page(files: &[SourceFile]) -> Vec<Complaint> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return vec![Complaint::new(PAGE, 1, "is missing")];
    };
    let is_module = |cell: &str| MAY_USE.iter().any(|(module, _)| *module == cell);
    let rows = page.text.lines().enumerate().filter_map(|(index, line)| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let module = cells.next()?.strip_prefix('`')?.strip_suffix('`').filter(|cell| is_module(cell))?;
        Some((index + 1, format!("{module}: {}", cells.next()?)))
    });
    let expected = MAY_USE.iter().map(|(module, allowed)| {
        let list = if allowed.is_empty() { "-".to_owned() } else { allowed.join(", ") };
        format!("{module}: {list}")
    });
    let (lines, rows): (Vec<usize>, Vec<String>) = rows.unzip();
    let expected: Vec<String> = expected.collect();
    if rows == expected {
        return Vec::new();
    }
    let different = rows.iter().zip(&expected).take_while(|(row, expected)| row == expected).count();
    let line = lines.get(different).or(lines.last()).copied().unwrap_or(1);
    let wanted = expected.get(different).map_or("no further row", String::as_str);
    vec![Complaint::new(PAGE, line, format!("the table of modules should have here `{wanted}`"))]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile { path: format!("{COMPILER}{path}"), text: text.to_owned() };
        check(&file).into_iter().map(|complaint| complaint.message).collect()
    }

    #[test]
    fn allowed_edges_pass() {
        assert_eq!(messages("lower/expr.rs", "use crate::{clang, ir::Expr, source::Span}; use super::types;"), [""; 0]);
        assert_eq!(messages("ir/mod.rs", "mod walk; use walk::each; use std::collections::BTreeMap;"), [""; 0]);
    }

    #[test]
    fn forbidden_edges_are_found() {
        assert_eq!(messages("ir/walk.rs", "use crate::clang::Node;"), ["`ir` must not name `clang`"]);
        assert_eq!(messages("ir/walk.rs", "use super::super::lower;"), ["`ir` must not name `lower`"]);
        assert_eq!(messages("emit/mod.rs", "fn f() { crate::analysis::g() }"), ["`emit` must not name `analysis`"]);
        assert_eq!(messages("source.rs", "use crate::ir::Module;"), ["`source` must not name `ir`"]);
    }

    #[test]
    fn the_compiler_stays_pure() {
        let message = "the compiler is pure: std::fs belongs to the driver";
        assert_eq!(messages("lower/mod.rs", "use std::{fs, fmt};"), [message]);
    }

    #[test]
    fn the_page_has_the_same_table() {
        let row = |(module, allowed): &(&str, &[&str])| {
            let list = if allowed.is_empty() { "-".to_owned() } else { allowed.join(", ") };
            format!("| `{module}` | {list} | text |\n")
        };
        let right: String = MAY_USE.iter().map(row).collect();
        let lines = |text: String| -> Vec<usize> {
            check_page(&[SourceFile { path: PAGE.to_owned(), text }]).iter().map(|complaint| complaint.line).collect()
        };
        assert_eq!(lines(right.clone()), [0; 0]);
        assert_eq!(lines(right.replace("| `direct` | clang |", "| `direct` | clang, ir |")), [8]);
        assert_eq!(lines(right.replace("| `index` | - | text |\n", "")), [2]);
        assert_eq!(lines(String::new()), [1]);
    }

    #[test]
    fn a_new_module_needs_a_row() {
        assert_eq!(messages("helpers.rs", "").len(), 1);
    }
}
