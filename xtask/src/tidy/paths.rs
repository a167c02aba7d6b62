//! Collects the paths that a Rust file names, from its tokens: `use crate::{a, b::c}` and `crate::a::d()` alike,
//! inside macros too. Comments are not tokens here, so documentation may link anywhere.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A path as a file names it, at least one segment long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedPath {
    pub(super) line: usize,
    /// The first is `crate`, or a name that the file knows: of a crate, of something imported, of its own. A `*` at
    /// the end stands for all names.
    pub(super) segments: Vec<String>,
    pub(super) role: Role,
    /// What the file calls it from then on.
    pub(super) name: String,
}

/// What a path is there for.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) enum Role {
    /// `a::b()`, `a::B`, or a single name.
    Named,
    /// `use a::b;`
    Imported,
    /// `pub use a::b;`
    HandedOn,
}

/// All paths of a file that is this module of its crate. `super` and `self` are followed to the root. What is
/// only for tests is left out.
pub(super) fn named_paths(tokens: TokenStream, module: &[&str]) -> Vec<NamedPath> {
    let mut collector = Collector { module: module.iter().map(|&name| name.to_owned()).collect(), paths: Vec::new() };
    collector.collect(tokens);
    collector.paths
}

/// The module that a file of a crate's `src` is: `lib.rs` none, `ir/mod.rs` `ir`, `ir/walk.rs` `ir::walk`.
pub(super) fn module_of(inside: &str) -> Vec<&str> {
    let path = inside.strip_suffix(".rs").unwrap_or(inside);
    let path = if path == "lib" || path == "main" { "" } else { path.strip_suffix("/mod").unwrap_or(path) };
    path.split('/').filter(|name| !name.is_empty()).collect()
}

struct Collector {
    module: Vec<String>,
    paths: Vec<NamedPath>,
}

impl Collector {
    fn collect(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut position = 0;
        while position < tokens.len() {
            let (before, rest) = tokens.split_at(position);
            position += match &rest[0] {
                TokenTree::Ident(ident) if ident == "mod" => self.collect_module(before, rest),
                TokenTree::Ident(ident) if ident == "use" && rest.len() > 1 => {
                    let role = if visibility(before) > 0 { Role::HandedOn } else { Role::Imported };
                    let length = self.paths.len();
                    let tokens = self.collect_path(&rest[1..], Vec::new(), role);
                    if is_for_tests(before) {
                        self.paths.truncate(length);
                    }
                    1 + tokens
                }
                // The name of a field or a method.
                TokenTree::Ident(_) if ends_with_dot(before) => 1,
                TokenTree::Ident(_) => self.collect_path(rest, Vec::new(), Role::Named),
                // `(in super::super)` says who may name an item; nothing is taken from there.
                TokenTree::Group(_) if visibility(before) == 1 => 1,
                TokenTree::Group(group) => {
                    self.collect(group.stream());
                    1
                }
                TokenTree::Punct(_) | TokenTree::Literal(_) => 1,
            };
        }
    }

    /// `mod name;` names nothing; the body of `mod name { … }` is collected. Returns how many tokens belong to it.
    fn collect_module(&mut self, before: &[TokenTree], tokens: &[TokenTree]) -> usize {
        match tokens {
            [_, TokenTree::Ident(name), TokenTree::Group(body), ..] if body.delimiter() == Delimiter::Brace => {
                if !is_for_tests(before) {
                    self.module.push(name.to_string());
                    self.collect(body.stream());
                    self.module.pop();
                }
                3
            }
            [_, TokenTree::Ident(_), ..] => 2,
            _ => 1,
        }
    }

    /// Reads the path that begins at these tokens, on top of `prefix`; a group at its end is one path an entry.
    /// Returns how many tokens belong to it.
    fn collect_path(&mut self, tokens: &[TokenTree], prefix: Vec<String>, role: Role) -> usize {
        let Some(first) = tokens.first() else { return 0 };
        let line = first.span().start().line;
        let mut segments = prefix;
        let mut position = 0;
        loop {
            match tokens.get(position) {
                Some(TokenTree::Ident(ident)) => segments.push(ident.to_string()),
                Some(TokenTree::Punct(punct)) if punct.as_char() == '*' && role != Role::Named => {
                    segments.push(punct.to_string());
                }
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace && !segments.is_empty() => {
                    self.collect_entries(group, &segments, role);
                    return position + 1;
                }
                _ => break,
            }
            position += 1;
            if !is_path_separator(&tokens[position..]) {
                break;
            }
            position += 2;
        }
        let last = match &tokens[position..] {
            [TokenTree::Ident(word), TokenTree::Ident(name), ..] if word == "as" && role != Role::Named => {
                position += 2;
                Some(name.to_string())
            }
            _ => segments.last().cloned(),
        };
        if let Some(name) = last {
            let segments = self.rooted(segments);
            // `use a::{self}` brings `a`.
            let name = if name == "self" { segments.last().unwrap_or(&name).clone() } else { name };
            self.paths.push(NamedPath { line, segments, role, name });
        }
        position.max(1)
    }

    /// The entries of `a::{b, c::d}`.
    fn collect_entries(&mut self, group: &Group, prefix: &[String], role: Role) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
        for entry in tokens.split(is_comma).filter(|entry| !entry.is_empty()) {
            self.collect_path(entry, prefix.to_vec(), role);
        }
    }

    /// `super::x` in the module `a::b` is `crate::a::x`, and `self::x` is `crate::a::b::x`.
    fn rooted(&self, mut segments: Vec<String>) -> Vec<String> {
        if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
            segments.pop();
        }
        let first_is_self = segments.len() > 1 && segments[0] == "self";
        let levels = segments[usize::from(first_is_self)..].iter().take_while(|segment| *segment == "super").count();
        let Some(kept) = self.module.len().checked_sub(levels) else { return segments };
        let written = usize::from(first_is_self) + levels;
        if written > 0 {
            let root = std::iter::once("crate".to_owned());
            segments.splice(..written, root.chain(self.module[..kept].iter().cloned()));
        }
        segments
    }
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(tokens.first()) && is_colon(tokens.get(1))
}

fn ends_with_dot(before: &[TokenTree]) -> bool {
    let is_dot = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '.');
    // `0..end` names `end`.
    matches!(before, [.., other, last] if is_dot(last) && !is_dot(other))
}

/// How many tokens of visibility (`pub`, `pub(crate)`) these end with.
fn visibility(before: &[TokenTree]) -> usize {
    let is_pub = |token: &TokenTree| matches!(token, TokenTree::Ident(ident) if ident == "pub");
    match before {
        [.., last] if is_pub(last) => 1,
        [.., word, TokenTree::Group(_)] if is_pub(word) => 2,
        _ => 0,
    }
}

/// Whether the tokens before an item's keyword have `#[cfg(test)]` last.
fn is_for_tests(before: &[TokenTree]) -> bool {
    let attributes = &before[..before.len() - visibility(before)];
    matches!(attributes.last(), Some(TokenTree::Group(attribute)) if attribute.stream().to_string().replace(' ', "") == "cfg(test)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths of more than one segment.
    fn paths(text: &str, module: &[&str]) -> Vec<String> {
        let paths = named_paths(text.parse().unwrap(), module);
        paths.into_iter().map(|path| path.segments.join("::")).filter(|path| path.contains("::")).collect()
    }

    /// The roles and names of the paths of more than one segment.
    fn roles(text: &str) -> Vec<(Role, String)> {
        let paths = named_paths(text.parse().unwrap(), &["a"]);
        paths.into_iter().filter(|path| path.segments.len() > 1).map(|path| (path.role, path.name)).collect()
    }

    #[test]
    fn use_trees_are_spread_out() {
        assert_eq!(paths("use crate::{a, b::{c, d as e}};", &["m"]), ["crate::a", "crate::b::c", "crate::b::d"]);
        assert_eq!(paths("use std::{fs, io::Read};", &["m"]), ["std::fs", "std::io::Read"]);
    }

    #[test]
    fn paths_in_bodies_and_macros_are_found() {
        let text = "fn f() { let x = crate::a::g(1); println!(\"{}\", crate::b::H); }";
        assert_eq!(paths(text, &["m"]), ["crate::a::g", "crate::b::H"]);
    }

    #[test]
    fn super_is_followed_to_the_root() {
        assert_eq!(paths("use super::a;", &["m"]), ["crate::a"]);
        assert_eq!(paths("use super::a;", &["m", "n"]), ["crate::m::a"]);
        assert_eq!(paths("use super::super::a;", &["m", "n"]), ["crate::a"]);
        assert_eq!(
            paths("use self::a::{self, b}; use super::*;", &["m"]),
            ["crate::m::a", "crate::m::a::b", "crate::*"]
        );
        assert_eq!(paths("mod inner { use super::super::a; use super::b; }", &["m"]), ["crate::a", "crate::m::b"]);
    }

    #[test]
    fn modules_for_tests_are_left_out() {
        assert_eq!(paths("#[cfg(test)] mod tests { use crate::a; } use crate::b;", &["m"]), ["crate::b"]);
    }

    #[test]
    fn comments_name_nothing() {
        assert_eq!(paths("/// [`crate::a::B`]\nfn f() {} // crate::c::d", &["m"]), [""; 0]);
    }

    #[test]
    fn what_is_imported_is_told_from_what_is_handed_on() {
        assert_eq!(roles("use x::y;"), [(Role::Imported, "y".to_owned())]);
        assert_eq!(roles("use x::{y as z};"), [(Role::Imported, "z".to_owned())]);
        assert_eq!(roles("pub(crate) use x::y;"), [(Role::HandedOn, "y".to_owned())]);
        assert_eq!(roles("fn f() { x::y() }"), [(Role::Named, "y".to_owned())]);
        assert_eq!(roles("#[cfg(test)] pub(crate) use x::y;"), []);
    }

    #[test]
    fn a_declared_module_and_a_field_are_no_names() {
        let single = |text: &str| named_paths(text.parse().unwrap(), &["a"]).len();
        assert_eq!(single("mod x;"), 0);
        assert_eq!(single("pub(in super::super)"), 1);
        assert_eq!(single("x.y.z()"), 1);
        assert_eq!(single("0..x"), 1);
    }
}
