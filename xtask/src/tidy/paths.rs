//! Collects the paths that a Rust file names, from its tokens: `use crate::{a, b::c}` and `crate::a::d()` alike,
//! inside macros too. Comments are not tokens here, so documentation may link anywhere.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A path from the root of a crate, at least one segment long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NamedPath {
    pub(super) line: usize,
    /// The first is `crate` or a crate's name.
    pub(super) segments: Vec<String>,
}

/// All paths of a file that lies `depth` modules below the root of its crate. Modules for tests only are left out.
pub(super) fn named_paths(tokens: TokenStream, depth: usize) -> Vec<NamedPath> {
    let mut paths = Vec::new();
    collect(tokens, depth, &mut paths);
    paths
}

fn collect(tokens: TokenStream, depth: usize, paths: &mut Vec<NamedPath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut position = 0;
    while position < tokens.len() {
        match &tokens[position] {
            TokenTree::Ident(ident) if ident == "mod" => {
                if let Some(body) = module_body(&tokens[position..]) {
                    if !is_for_tests(&tokens[..position]) {
                        collect(body.stream(), depth + 1, paths);
                    }
                    position += 3;
                    continue;
                }
                position += 1;
            }
            TokenTree::Ident(_) => position += collect_path(&tokens[position..], depth, Vec::new(), paths),
            TokenTree::Group(group) => {
                collect(group.stream(), depth, paths);
                position += 1;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => position += 1,
        }
    }
}

/// Reads the path that begins at these tokens, on top of `prefix`; a group at its end is one path an entry. Returns
/// how many tokens belong to it.
fn collect_path(tokens: &[TokenTree], depth: usize, prefix: Vec<String>, paths: &mut Vec<NamedPath>) -> usize {
    let line = tokens[0].span().start().line;
    let mut segments = prefix;
    let mut position = 0;
    loop {
        match tokens.get(position) {
            Some(TokenTree::Ident(ident)) => {
                segments.push(ident.to_string());
                position += 1;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace && position > 0 => {
                collect_entries(group, depth, &segments, paths);
                return position + 1;
            }
            _ => break,
        }
        if !is_path_separator(&tokens[position..]) {
            break;
        }
        position += 2;
    }
    if segments.len() > 1 {
        paths.push(NamedPath { line, segments: resolve_super(segments, depth) });
    }
    position.max(1)
}

/// The entries of `a::{b, c::d}`.
fn collect_entries(group: &Group, depth: usize, prefix: &[String], paths: &mut Vec<NamedPath>) {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    for entry in tokens.split(is_comma).filter(|entry| !entry.is_empty()) {
        collect_path(entry, depth, prefix.to_vec(), paths);
    }
}

/// `super::super::x`, as many levels up as the module is deep, is `crate::x`.
fn resolve_super(mut segments: Vec<String>, depth: usize) -> Vec<String> {
    let levels = segments.iter().take_while(|segment| *segment == "super").count();
    if levels > 0 && levels == depth {
        segments.splice(..levels, ["crate".to_owned()]);
    }
    segments
}

fn is_path_separator(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(tokens.first()) && is_colon(tokens.get(1))
}

/// The body of `mod name { … }`.
fn module_body(tokens: &[TokenTree]) -> Option<&Group> {
    match tokens {
        [_, TokenTree::Ident(_), TokenTree::Group(body), ..] if body.delimiter() == Delimiter::Brace => Some(body),
        _ => None,
    }
}

/// Whether the tokens before an item end with `#[cfg(test)]`.
fn is_for_tests(before: &[TokenTree]) -> bool {
    matches!(before.last(), Some(TokenTree::Group(attribute)) if attribute.stream().to_string().replace(' ', "") == "cfg(test)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str, depth: usize) -> Vec<String> {
        named_paths(text.parse().unwrap(), depth).into_iter().map(|path| path.segments.join("::")).collect()
    }

    #[test]
    fn use_trees_are_spread_out() {
        assert_eq!(paths("use crate::{a, b::{c, d as e}};", 1), ["crate::a", "crate::b::c", "crate::b::d"]);
        assert_eq!(paths("use std::{fs, io::Read};", 1), ["std::fs", "std::io::Read"]);
    }

    #[test]
    fn paths_in_bodies_and_macros_are_found() {
        let text = "fn f() { let x = crate::a::g(1); println!(\"{}\", crate::b::H); }";
        assert_eq!(paths(text, 1), ["crate::a::g", "crate::b::H"]);
    }

    #[test]
    fn super_is_followed_to_the_root() {
        assert_eq!(paths("use super::a;", 1), ["crate::a"]);
        assert_eq!(paths("use super::a;", 2), ["super::a"]);
        assert_eq!(paths("mod inner { use super::super::a; }", 1), ["crate::a"]);
    }

    #[test]
    fn modules_for_tests_are_left_out() {
        assert_eq!(paths("#[cfg(test)] mod tests { use crate::a; } use crate::b;", 1), ["crate::b"]);
    }

    #[test]
    fn comments_name_nothing() {
        assert_eq!(paths("/// [`crate::a::B`]\nfn f() {} // crate::c::d", 1), [""; 0]);
    }
}
