//! Rules about files as text: how they begin, no blanks at line ends, no paths of somebody's machine.

use super::complaint::Complaint;
use crate::workspace::SourceFile;

/// Lines a C++ header.
const HEADER_LINES: usize = 800;

/// Folders that exist on one machine only. In pieces, so that this file does not break the rule.
const MACHINE_PATHS: &[&str] = &[concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];

/// Checks all files.
pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let mut complain = |line, message: String| complaints.push(Complaint::new(&file.path, line, message));
    let first = file.text.lines().next().unwrap_or_default();
    if file.path.ends_with(".rs") && !first.starts_with("//! ") {
        complain(1, "a Rust file opens with `//!` and says what it is".to_owned());
    }
    if is_cpp_header(&file.path) {
        if !first.starts_with("// ") {
            complain(1, "a header opens with a `//` comment and says what it is".to_owned());
        }
        let lines = file.text.lines().count();
        if lines > HEADER_LINES {
            complain(1, format!("{lines} lines; a header has at most {HEADER_LINES}"));
        }
    }
    for (index, line) in file.text.lines().enumerate() {
        if line.ends_with([' ', '\t', '\r']) {
            complain(index + 1, "blank at the end of the line".to_owned());
        }
        if let Some(path) = MACHINE_PATHS.iter().find(|path| names_folder(line, path)) {
            complain(index + 1, format!("`{path}` is a path of one machine"));
        }
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        complain(file.text.lines().count(), "no newline at the end".to_owned());
    }
    complaints
}

fn is_cpp_header(path: &str) -> bool {
    path.starts_with("include/") && !path.ends_with(".md")
}

/// Whether the line names this folder from the root, and not one of the same name somewhere below.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| !line[..at].ends_with(|before: char| before.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        check(&[file]).into_iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn openings_are_required() {
        assert_eq!(lines("a.rs", "//! What it is.\n"), [0; 0]);
        assert_eq!(lines("a.rs", "fn f() {}\n"), [1]);
        assert_eq!(lines("include/cpu/a.h", "// What it is.\n#pragma once\n"), [0; 0]);
        assert_eq!(lines("include/cpu/a.h", "#pragma once\n"), [1]);
    }

    #[test]
    fn blanks_and_machine_paths_are_found() {
        assert_eq!(lines("a.md", "one\ntwo \nthree"), [2, 3]);
        assert_eq!(lines("a.md", concat!("see /", "root/x\n")), [1]);
        assert_eq!(lines("a.md", concat!("see ch/", "root/x\n")).len(), 0);
    }
}
