//! The directives at the head of a program: what can be read once and kept, since no code of the program stands before
//! it. Headers of the program itself are not kept, but looked into.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::source_text::source_text;

/// Libraries whose headers take Clang so long, and whose dump is so large, that they are always precompiled: how the
/// names of their headers begin.
const LARGE: &[&str] = &["torch/", "ATen/", "c10/"];

/// The leading directives, a line each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leading {
    /// `#include` of other than the program's own headers, and `#define` and `#undef` between them.
    pub(crate) text: String,
    /// Whether a large library is among them.
    pub(crate) is_large: bool,
}

/// The leading directives of a program, with those of its own headers in their place, and without headers of a name
/// that is to be left out.
pub(crate) fn leading(file: &Path, text: &str, left_out: impl Fn(&str) -> bool) -> Leading {
    let seen = BTreeSet::from([file.to_path_buf()]);
    let mut scan = Scan { found: Leading::default(), left_out: &left_out, seen, home: home(file) };
    scan.file(file, text);
    scan.found
}

struct Scan<'l> {
    found: Leading,
    left_out: &'l dyn Fn(&str) -> bool,
    seen: BTreeSet<PathBuf>,
    /// Folders of the program.
    home: Vec<PathBuf>,
}

/// The folder of the file, and the current one.
fn home(file: &Path) -> Vec<PathBuf> {
    let own = std::path::absolute(file).ok().and_then(|path| path.parent().map(Path::to_path_buf));
    own.into_iter().chain(std::env::current_dir()).collect()
}

impl Scan<'_> {
    /// Whether nothing but directives is in the file.
    fn file(&mut self, path: &Path, text: &str) -> bool {
        let text = without_comments(text);
        let mut guard = None;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let Some(directive) = line.strip_prefix('#').map(str::trim_start) else { return false };
            let (word, rest) = directive.split_once([' ', '\t', '"', '<']).unwrap_or((directive, ""));
            match word {
                "include" => {
                    if !self.include(path, directive["include".len()..].trim()) {
                        return false;
                    }
                }
                // `#ifndef A_H`, `#define A_H` around a whole file; its `#endif` ends what is looked at.
                "ifndef" if guard.is_none() => guard = Some(rest.trim().to_owned()),
                "define" if guard.as_deref() == Some(rest.trim()) => {}
                "define" | "undef" => {
                    self.found.text.push_str(line);
                    self.found.text.push('\n');
                }
                "pragma" if rest.trim() == "once" => {}
                "endif" if guard.is_some() => return true,
                _ => return false,
            }
        }
        true
    }

    /// Whether what follows the directive still stands at the head of the program.
    fn include(&mut self, from: &Path, name: &str) -> bool {
        let name = name.trim();
        let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let Some(plain) = quoted.or_else(|| name.strip_prefix('<')?.strip_suffix('>')) else { return false };
        if let Some(own) = quoted.and_then(|plain| self.own_header(from, plain)) {
            if !self.seen.insert(own.clone()) {
                return true;
            }
            return source_text(&own).is_ok_and(|source| self.file(&own, &source.text));
        }
        if (self.left_out)(plain) {
            return true;
        }
        self.found.is_large |= is_large(plain);
        self.found.text.push_str(&format!("#include {name}\n"));
        true
    }

    /// The header that stands beside the file which includes it, if it is none of an installed library.
    fn own_header(&self, from: &Path, name: &str) -> Option<PathBuf> {
        let path = from.parent()?.join(name);
        let whole = std::path::absolute(&path).ok()?;
        let is_installed = whole.iter().any(|part| part == "site-packages" || part == "dist-packages");
        let is_at_home = self.home.iter().any(|folder| whole.starts_with(folder)) || name.starts_with("..");
        (path.is_file() && is_at_home && !is_installed).then_some(path)
    }
}

fn is_large(header: &str) -> bool {
    LARGE.iter().any(|library| header.starts_with(library))
}

/// Whether a line includes a header of a large library.
pub(crate) fn is_include_of_large(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix("include"));
    rest.is_some_and(|rest| is_large(rest.trim_start().trim_start_matches(['<', '"'])))
}

/// The text without comments, and with continued lines joined. Strings do not matter: the first line with one that is
/// no directive ends what is looked at.
fn without_comments(text: &str) -> String {
    let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut out = String::new();
    let mut rest = &*joined;
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        out.push_str(&rest[..at]);
        let is_block = rest[at..].starts_with("/*");
        let end = if is_block {
            rest[at + 2..].find("*/").map(|end| at + end + 4)
        } else {
            rest[at..].find('\n').map(|end| at + end)
        };
        out.push(' ');
        rest = end.map_or("", |end| &rest[end..]);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (String, bool) {
        let Leading { text, is_large } = leading(Path::new("none/program.cu"), text, |name| name == "ours.h");
        (text, is_large)
    }

    #[test]
    fn what_stands_before_the_first_code_is_leading() {
        let text = "// A file.\n#pragma once\n#include <ours.h>\n#define A \\\n 1\n#include <torch/extension.h> /* all\nof it */\n\nint x;\n#include <vector>\n";
        assert_eq!(of(text), ("#define A   1\n#include <torch/extension.h>\n".to_owned(), true));
    }

    #[test]
    fn a_condition_ends_it() {
        assert_eq!(
            of("#include <vector>\n#ifdef A\n#include <torch/extension.h>\n#endif\n"),
            ("#include <vector>\n".to_owned(), false)
        );
    }

    #[test]
    fn own_headers_are_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let header = "#ifndef OWN_H\n#define OWN_H\n#include <ATen/ATen.h>\n#define B 2\nstruct S {};\n#endif\n";
        std::fs::write(folder.path().join("own.h"), header).unwrap();
        let found =
            leading(&folder.path().join("program.cu"), "#include <map>\n#include \"own.h\"\n#include <set>\n", |_| {
                false
            });
        assert_eq!(found.text, "#include <map>\n#include <ATen/ATen.h>\n#define B 2\n");
        assert!(found.is_large);
    }
}
