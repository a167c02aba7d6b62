//! The directives at the head of a program: what can be read once and kept, since no code of the program stands before
//! it. Headers of the program itself are not kept, but looked into.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::source_text::source_text;

/// Libraries whose headers take Clang so long, and whose dump is so large, that they are always precompiled: how the
/// names of their headers begin.
const LARGE: &[&str] = &["torch/", "ATen/", "c10/", "THC/"];

/// The leading directives, a line each.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Leading {
    /// `#include` of other than the program's own headers, `#define` and `#undef` between them, and the conditions around
    /// them.
    pub(crate) text: String,
    /// Whether a large library is among them.
    pub(crate) is_large: bool,
}

/// The leading directives of a program, with those of its own headers in their place, and without headers of a name
/// that is to be left out. Its own headers are found beside the file that includes them, or in a folder of `-I`.
pub(crate) fn leading(file: &Path, text: &str, folders: &[PathBuf], left_out: impl Fn(&str) -> bool) -> Leading {
    let seen = BTreeMap::from([(file.to_path_buf(), false)]);
    let mut scan = Scan {
        found: Leading::default(),
        left_out: &left_out,
        seen,
        home: home(file),
        folders,
        conditions: 0,
        large: None,
    };
    scan.file(file, text);
    // What follows the last header of a large library costs little, and is different in each file: without it, many files have
    // the same head.
    if let Some((end, conditions)) = scan.large {
        scan.found.text.truncate(end);
        scan.found.text.push_str(&"#endif\n".repeat(conditions));
    }
    scan.found
}

struct Scan<'l> {
    found: Leading,
    left_out: &'l dyn Fn(&str) -> bool,
    /// The program's own headers so far, and whether a condition stood around the first `#include` of each.
    seen: BTreeMap<PathBuf, bool>,
    /// Folders of the program.
    home: Vec<PathBuf>,
    folders: &'l [PathBuf],
    /// How many conditions are open, in all files.
    conditions: usize,
    /// Where the last `#include` of a large library ends, and how many conditions are open there.
    large: Option<(usize, usize)>,
}

/// The folder of the file, and the current one.
fn home(file: &Path) -> Vec<PathBuf> {
    let own = std::path::absolute(file).ok().and_then(|path| path.parent().map(Path::to_path_buf));
    own.into_iter().chain(std::env::current_dir()).collect()
}

/// A condition whose `#endif` is still to come.
#[derive(Default)]
struct Condition {
    /// It stands around the whole file, so that the file is read once.
    is_guard: bool,
    /// The rest of the present branch is not leading: code stands in it.
    is_cut: bool,
    /// That of any branch. What follows the `#endif` may then stand behind code.
    was_cut: bool,
    /// It is in such a rest.
    is_ignored: bool,
}

impl Scan<'_> {
    /// Whether nothing but directives is in the file. What is found is right whichever branches are taken: in each, it
    /// ends where the first code stands.
    fn file(&mut self, path: &Path, text: &str) -> bool {
        let text = without_comments(text);
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
        let mut open: Vec<Condition> = Vec::new();
        while let Some(line) = lines.next() {
            let directive = line.strip_prefix('#').map_or("", str::trim_start);
            let (word, rest) = directive.split_once([' ', '\t', '"', '<', '(', '!']).unwrap_or((directive, ""));
            let is_ignored = open.last().is_some_and(|last| last.is_cut || last.is_ignored);
            let goes_on = match word {
                "if" | "ifdef" | "ifndef" if is_ignored => {
                    open.push(Condition { is_ignored: true, ..Condition::default() });
                    true
                }
                "ifndef" if open.is_empty() && lines.next_if(|next| is_definition_of(next, rest.trim())).is_some() => {
                    open.push(Condition { is_guard: true, ..Condition::default() });
                    true
                }
                "if" | "ifdef" | "ifndef" => {
                    self.push(if is_asked_elsewhere(line) { "#if 1" } else { line });
                    self.conditions += 1;
                    open.push(Condition::default());
                    !is_asked_elsewhere(line)
                }
                "else" | "elif" => self.other_branch(open.last_mut(), line),
                "endif" => self.end(open.pop()),
                _ if is_ignored => true,
                "include" => self.include(path, directive["include".len()..].trim()),
                "define" | "undef" => {
                    self.push(line);
                    true
                }
                "pragma" => rest.trim() == "once",
                _ => false,
            };
            if !goes_on {
                match open.last_mut() {
                    Some(branch) if !branch.is_guard => (branch.is_cut, branch.was_cut) = (true, true),
                    _ => return false,
                }
            }
        }
        open.is_empty()
    }

    fn push(&mut self, line: &str) {
        self.found.text.push_str(line);
        self.found.text.push('\n');
    }

    /// `#else` or `#elif`: what was cut in the branch before does not concern this one.
    fn other_branch(&mut self, condition: Option<&mut Condition>, line: &str) -> bool {
        match condition {
            Some(condition) if condition.is_ignored => true,
            Some(condition) if !condition.is_guard => {
                condition.is_cut = false;
                self.push(if is_asked_elsewhere(line) { "#elif 1" } else { line });
                !is_asked_elsewhere(line)
            }
            _ => false,
        }
    }

    /// `#endif`: whether what follows is leading.
    fn end(&mut self, condition: Option<Condition>) -> bool {
        let Some(Condition { is_guard, was_cut, is_ignored, .. }) = condition else { return false };
        if !is_guard && !is_ignored {
            self.push("#endif");
            self.conditions -= 1;
        }
        !was_cut
    }

    /// Whether what follows the directive still stands at the head of the program.
    fn include(&mut self, from: &Path, name: &str) -> bool {
        let name = name.trim();
        let quoted = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let Some(plain) = quoted.or_else(|| name.strip_prefix('<')?.strip_suffix('>')) else { return false };
        if let Some(own) = quoted.and_then(|plain| self.own_header(from, plain)) {
            // Where it was included under a condition, nobody knows whether it was.
            if let Some(is_conditional) = self.seen.get(&own) {
                return !is_conditional;
            }
            self.seen.insert(own.clone(), self.conditions > 0);
            return source_text(&own).is_ok_and(|source| self.file(&own, &source.text));
        }
        if (self.left_out)(plain) {
            return true;
        }
        self.push(&format!("#include {name}"));
        if is_large(plain) {
            self.found.is_large = true;
            self.large = Some((self.found.text.len(), self.conditions));
        }
        true
    }

    /// The header of the program that a name in quotation marks means, if it is none of an installed library.
    fn own_header(&self, from: &Path, name: &str) -> Option<PathBuf> {
        let folders = from.parent().into_iter().chain(self.folders.iter().map(PathBuf::as_path));
        let path = folders.map(|folder| folder.join(name)).find(|path| path.is_file())?;
        let whole = std::path::absolute(&path).ok()?;
        let is_installed = whole.iter().any(|part| part == "site-packages" || part == "dist-packages");
        let is_at_home = self.home.iter().any(|folder| whole.starts_with(folder)) || name.starts_with("..");
        (is_at_home && !is_installed).then_some(path)
    }
}

/// Whether a condition asks for a header that might be looked for beside another file. Nothing is known of what follows it:
/// its branch is cut at once, and no other one is taken.
fn is_asked_elsewhere(line: &str) -> bool {
    line.contains("__has_include")
}

/// Whether a line is `#define NAME`.
fn is_definition_of(line: &str, name: &str) -> bool {
    let directive = line.strip_prefix('#').map_or("", str::trim_start);
    directive.strip_prefix("define").is_some_and(|rest| rest.trim() == name)
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
        let found = leading(Path::new("none/program.cu"), text, &[], |name| name == "ours.h");
        (found.text, found.is_large)
    }

    #[test]
    fn what_stands_before_the_first_code_is_leading() {
        let text = "// A file.\n#pragma once\n#include <ours.h>\n#define A \\\n 1\n#include <torch/extension.h> /* all\nof it */\n\nint x;\n#include <vector>\n";
        assert_eq!(of(text), ("#define A   1\n#include <torch/extension.h>\n".to_owned(), true));
    }

    #[test]
    fn conditions_are_leading_too() {
        let text = "#include <vector>\n#ifdef A\n#include <torch/extension.h>\n#else\n# include <map>\n#endif\n#include <set>\nint x;\n";
        let leading = "#include <vector>\n#ifdef A\n#include <torch/extension.h>\n#endif\n";
        assert_eq!(of(text), (leading.to_owned(), true));
        let text = text.replace("torch/extension.h", "deque");
        let leading = text.replace("# include", "#include").replace("int x;\n", "");
        assert_eq!(of(&text), (leading, false));
    }

    #[test]
    fn a_branch_ends_at_its_code_and_then_all_does() {
        let text = "#if A\n#include <map>\nint x;\n#ifdef B\n#include <list>\n#else\n#endif\n#include <deque>\n#else\n#include <ATen/ATen.h>\n#endif\n#include <set>\n";
        assert_eq!(of(text), ("#if A\n#include <map>\n#else\n#include <ATen/ATen.h>\n#endif\n".to_owned(), true));
    }

    #[test]
    fn a_default_for_a_macro_is_no_guard() {
        let text = "#ifndef N\n#define N 3\n#endif\n#include <set>\n";
        assert_eq!(of(text).0, text);
    }

    #[test]
    fn a_question_about_headers_is_not_asked_elsewhere() {
        let text = "#if __has_include(\"own.h\")\n#include <map>\n#elif A\n#include <list>\n#endif\n#include <set>\n";
        assert_eq!(of(text).0, "#if 1\n#elif A\n#include <list>\n#endif\n");
    }

    #[test]
    fn own_headers_are_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let header = "#ifndef OWN_H\n#define OWN_H\n#include <ATen/ATen.h>\n#define B 2\nstruct S {};\n#endif\n";
        std::fs::create_dir(folder.path().join("include")).unwrap();
        std::fs::write(folder.path().join("include/own.h"), header).unwrap();
        let program = folder.path().join("program.cu");
        let folders = [folder.path().join("include")];
        let leading = |text: &str| leading(&program, text, &folders, |_| false);
        let found = leading("#include <map>\n#include \"own.h\"\n#include <set>\n");
        assert_eq!(found.text, "#include <map>\n#include <ATen/ATen.h>\n");
        assert!(found.is_large);
        std::fs::write(folder.path().join("include/own.h"), "#pragma once\n#include <map>\n").unwrap();
        let twice = "#ifdef A\n#include \"own.h\"\n#endif\n#include \"own.h\"\n#include <set>\n";
        assert_eq!(leading(twice).text, "#ifdef A\n#include <map>\n#endif\n");
    }
}
