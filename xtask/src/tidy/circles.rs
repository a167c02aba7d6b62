//! Files that import each other in a circle can only be read together, so a circle has at most three of them. The
//! graph is that of each crate's `src`: an arrow for each name that a file takes from another, followed through the
//! files that hand it on (`pub use`) to the one that defines it. Declaring a module, handing a name on, and what is
//! only for tests are no imports; calling a method is none either.

use std::collections::{BTreeMap, BTreeSet};

use super::complaint::Complaint;
use super::graph::circles;
use super::paths::{NamedPath, Role, module_of, named_paths};
use crate::workspace::SourceFile;

/// How many files may import each other in a circle.
const MOST: usize = 3;

/// A crate's `src`: its files by their modules.
struct Crate<'a> {
    modules: BTreeMap<Vec<&'a str>, usize>,
    files: Vec<File<'a>>,
}

struct File<'a> {
    path: &'a str,
    module: Vec<&'a str>,
    paths: Vec<NamedPath>,
}

/// What a file takes from which: the other file's number, and a name.
type Arrows = BTreeMap<usize, String>;

/// Checks all crates.
pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for krate in crates(files) {
        let arrows: Vec<Arrows> = (0..krate.files.len()).map(|file| krate.arrows(file)).collect();
        let graph = arrows.iter().enumerate().map(|(file, taken)| (file, taken.keys().copied().collect())).collect();
        for circle in circles(&graph).iter().filter(|circle| circle.len() > MOST) {
            let first = circle.first().map_or("", |first| krate.files[*first].path);
            complaints.push(Complaint::new(first, 1, krate.message(circle, &arrows)));
        }
    }
    complaints
}

/// The crates of the workspace. Files that only tests have are left out.
fn crates(files: &[SourceFile]) -> Vec<Crate<'_>> {
    let mut crates: BTreeMap<&str, Crate<'_>> = BTreeMap::new();
    let mut for_tests = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        let Some((root, inside)) = file.path.split_once("/src/") else { continue };
        let (Ok(tokens), Ok(syntax)) = (file.text.parse(), syn::parse_file(&file.text)) else { continue };
        let module = module_of(inside);
        for_tests.extend(modules_for_tests(&syntax).map(|name| (root, [joined(&module), name].join("::"))));
        let paths = named_paths(tokens, &module);
        let krate = crates.entry(root).or_insert_with(|| Crate { modules: BTreeMap::new(), files: Vec::new() });
        krate.files.push(File { path: &file.path, module, paths });
    }
    for (root, krate) in &mut crates {
        krate.files.retain(|file| {
            let module = joined(&file.module);
            let is_inside = |tests: &str| module == tests || module.starts_with(&format!("{tests}::"));
            !for_tests.iter().any(|(of, tests)| of == root && is_inside(tests))
        });
        krate.modules = krate.files.iter().enumerate().map(|(number, file)| (file.module.clone(), number)).collect();
    }
    crates.into_values().collect()
}

fn joined(module: &[&str]) -> String {
    module.iter().fold("crate".to_owned(), |path, name| path + "::" + name)
}

/// The names of `#[cfg(test)] mod name;`.
fn modules_for_tests(syntax: &syn::File) -> impl Iterator<Item = String> {
    syntax.items.iter().filter_map(|item| {
        let syn::Item::Mod(module) = item else { return None };
        let is_for_tests = module.attrs.iter().any(|attribute| {
            attribute.path().is_ident("cfg")
                && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
        });
        (is_for_tests && module.content.is_none()).then(|| module.ident.to_string())
    })
}

impl Crate<'_> {
    fn arrows(&self, file: usize) -> Arrows {
        let mut arrows = Arrows::new();
        for path in self.files[file].paths.iter().filter(|path| path.role != Role::HandedOn) {
            if let Some(other) = self.definer(file, &path.segments, 0).filter(|other| *other != file) {
                arrows.entry(other).or_insert_with(|| path.name.clone());
            }
        }
        arrows
    }

    /// The file that defines what `file` names so: none where it is another crate's, or a module.
    fn definer(&self, file: usize, path: &[String], steps: usize) -> Option<usize> {
        // Names that are handed on in a circle do not compile; this only ends the search.
        const LONGEST: usize = 16;
        let (first, rest) = path.split_first().filter(|_| steps < LONGEST)?;
        if first == "crate" {
            let depth = (0..=rest.len()).rev().find(|&depth| self.modules.contains_key(&*words(&rest[..depth])))?;
            let module = self.modules[&*words(&rest[..depth])];
            let parent = || self.modules.get(&*words(&rest[..depth - 1])).copied();
            return match &rest[depth..] {
                // A name may be a module's and a function's that the parent hands on.
                [] if depth > 0 => self.bound(parent()?, &rest[depth - 1..], steps),
                [] => None,
                item => self.bound(module, item, steps).or(Some(module)),
            };
        }
        let child = || self.modules.contains_key(&*[&self.files[file].module[..], &[first.as_str()]].concat());
        self.bound(file, path, steps).or_else(|| {
            let below = self.files[file].module.iter().map(|&name| name.to_owned());
            let whole: Vec<String> = std::iter::once("crate".to_owned()).chain(below).chain(path.to_vec()).collect();
            if rest.is_empty() || !child() { None } else { self.definer(file, &whole, steps + 1) }
        })
    }

    /// The file that defines this, if the first segment is a name that `file` imports or hands on.
    fn bound(&self, file: usize, path: &[String], steps: usize) -> Option<usize> {
        let (first, rest) = path.split_first()?;
        let is_binding = |path: &&NamedPath| path.role != Role::Named && path.name == *first;
        let mut bindings = self.files[file].paths.iter().filter(is_binding);
        bindings.find_map(|binding| {
            let whole = [&binding.segments[..], rest].concat();
            if whole == path { None } else { self.definer(file, &whole, steps + 1) }
        })
    }

    /// Names what the circle's files take from each other.
    fn message(&self, circle: &BTreeSet<usize>, arrows: &[Arrows]) -> String {
        let arrow = |&from: &usize| {
            let to = arrows[from].iter().filter(|(to, _)| circle.contains(to));
            let taken: Vec<String> =
                to.map(|(to, name)| format!("{} ({name})", joined(&self.files[*to].module))).collect();
            format!("\n  {} takes from {}", joined(&self.files[from].module), taken.join(", "))
        };
        let lines: String = circle.iter().map(arrow).collect();
        format!("{} files import each other in a circle, at most {MOST} may:{lines}", circle.len())
    }
}

fn words(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints about a crate of these files.
    fn complaints(files: &[(&str, &str)]) -> Vec<Complaint> {
        let source = |&(path, text): &(&str, &str)| SourceFile { path: format!("k/src/{path}"), text: text.to_owned() };
        check(&files.iter().map(source).collect::<Vec<_>>())
    }

    fn number(files: &[(&str, &str)]) -> usize {
        complaints(files).len()
    }

    const ROOT: (&str, &str) = ("lib.rs", "mod a; mod b; mod c; mod d;");

    #[test]
    fn a_circle_of_four_is_found_and_one_of_three_is_none() {
        let a = ("a.rs", "use crate::b::B; pub struct A;");
        let b = ("b.rs", "use super::c; pub struct B(c::C);");
        let c = ("c.rs", "pub struct C(Box<crate::d::D>);");
        assert_eq!(number(&[ROOT, a, b, c, ("d.rs", "use super::a::A; pub struct D(A);")]), 1);
        assert_eq!(number(&[ROOT, a, b, c, ("d.rs", "use super::b::B; pub struct D(B);")]), 0);
        assert_eq!(number(&[ROOT, a, b, c, ("d.rs", "pub struct D;")]), 0);
    }

    #[test]
    fn names_are_followed_to_the_file_that_defines_them() {
        let root = ("lib.rs", "mod a; mod b; mod c; mod d; pub use a::A; pub use d::D as E;");
        let b = ("b.rs", "use crate::c::C; pub struct B(C);");
        let c = ("c.rs", "use crate::E; pub struct C(E);");
        let d = ("d.rs", "use crate::A; pub struct D(A);");
        assert_eq!(number(&[root, ("a.rs", "use crate::b::B; pub struct A(B);"), b, c, d]), 1);
        // To hand names on is no import: the root is in no circle.
        assert_eq!(number(&[root, ("a.rs", "pub struct A;"), b, c, ("d.rs", "use crate::b::B; pub struct D(B);")]), 0);
    }

    #[test]
    fn a_parent_that_uses_its_children_is_in_the_circle() {
        let child = "use super::Shared; pub(super) fn run(shared: &Shared) {}";
        let children = [("m/a.rs", child), ("m/b.rs", child), ("m/c.rs", child)];
        let with_parent = |text| [&[("m/mod.rs", text)], &children[..]].concat();
        assert_eq!(number(&with_parent("mod a; mod b; mod c; pub struct Shared;")), 0);
        assert_eq!(
            number(&with_parent("mod a; mod b; mod c; pub struct Shared; fn f() { a::run(); b::run(); c::run() }")),
            1
        );
        // What is handed on and used as well is imported.
        let uses = "mod a; mod b; mod c; pub use a::run as x; pub use b::run as y; use c::run; struct Shared; fn f() { x(); y() }";
        assert_eq!(number(&with_parent(uses)), 1);
        assert_eq!(number(&with_parent(&uses.replace("x(); y()", ""))), 0);
    }

    #[test]
    fn tests_and_methods_import_nothing() {
        let a = ("a.rs", "use crate::b::B; use crate::c::C; pub struct A(B, C);");
        let b = ("b.rs", "pub struct B; impl B { fn f(&self) { self.a() } }");
        let c = ("c.rs", "use crate::b::B; #[cfg(test)] mod tests; #[cfg(test)] mod inner { use crate::a::A; }");
        let tests = ("c/tests.rs", "use crate::a::A; use super::*;");
        let d = ("d.rs", "#[cfg(test)] use crate::a::A; use crate::c::C; pub struct D;");
        assert_eq!(number(&[ROOT, a, b, c, tests, d]), 0);
        let all = |text: &str| text.replace("#[cfg(test)] ", "");
        assert_eq!(number(&[ROOT, a, ("b.rs", "use crate::d::D;"), ("c.rs", &all(c.1)), ("d.rs", &all(d.1))]), 1);
    }

    #[test]
    fn the_message_says_who_takes_what_from_whom() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::c::C;"),
            ("c.rs", "use crate::d::D;"),
            ("d.rs", "use crate::a::A;"),
        ];
        let found = complaints(&files);
        assert_eq!(found.iter().map(|one| &*one.path).collect::<Vec<_>>(), ["k/src/a.rs"]);
        assert!(found[0].message.contains("\n  crate::d takes from crate::a (A)"), "{}", found[0].message);
    }
}
