//! Many mutants in one text: each stands beside what it replaces, and a variable of the environment says which one is
//! meant. So the compiler is built once for all of them.
//!
//! Lines stay where they are, so that an error of rustc's says which mutant it is about.

use std::ops::Range;

use anyhow::{Context, Result};
use proc_macro2::{LineColumn, TokenStream};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, Expr, ExprBinary, ExprStruct, ExprUnary, Pat, PatGuard};

/// What the crate of the mutants gets at its end.
pub(super) const SWITCH: &str = r#"
#[doc(hidden)]
pub(crate) fn is_mutant(number: usize) -> bool {
    static MEANT: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var("COTANGENT_MUTANT").ok()?.parse().ok());
    *MEANT == Some(number)
}
"#;

/// A change of a file, as `cargo mutants` lists it.
pub(super) struct Change {
    /// What [`SWITCH`] knows it by.
    pub(super) number: usize,
    pub(super) genre: String,
    /// Where what is replaced begins, by line and column from 1.
    pub(super) start: (usize, usize),
    pub(super) replacement: String,
}

/// The text with all changes in it; those that cannot stand beside what they replace are named as well.
pub(super) fn with_changes(text: &str, changes: &[&Change]) -> Result<(String, Vec<usize>)> {
    let file = syn::parse_file(text)?;
    let mut edits = Vec::new();
    let mut impossible = Vec::new();
    for change in changes {
        let mut search = Search { text, change, start: offset(text, change.start)?, found: None };
        match change.genre.as_str() {
            "FnValue" => {
                let place = search.start..search.start;
                search.found = search.edit(place, format!("{{ return {}; }}", change.replacement), How::Before);
            }
            _ => search.visit_file(&file),
        }
        match search.found {
            Some(edit) => edits.push(edit),
            None => impossible.push(change.number),
        }
    }
    // Of two with one place, the outer one is the longer.
    edits.sort_by_key(|edit| (edit.place.start, std::cmp::Reverse(edit.place.end)));
    Ok((render(text, 0..text.len(), &edits), impossible))
}

/// A place and what stands there if the mutant is meant.
#[derive(Clone)]
struct Edit {
    number: usize,
    place: Range<usize>,
    mutated: String,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    /// An expression in place of another.
    Instead,
    /// A block that is left at once.
    Before,
    /// A guard that lets nothing through, after a pattern without one.
    Guard,
}

/// A part of the text. In what stands there if the mutant is *not* meant there may be others.
fn render(text: &str, part: Range<usize>, edits: &[Edit]) -> String {
    let (mut out, mut at, mut rest) = (String::new(), part.start, edits);
    while let Some((edit, others)) = rest.split_first() {
        let Edit { number, place, mutated, how } = edit;
        let inside = others.iter().take_while(|other| other.place.end <= place.end && !place.is_empty()).count();
        let own = render(text, place.clone(), &others[..inside]);
        out.push_str(&text[at..place.start]);
        let is_meant = format!("crate::is_mutant({number})");
        out.push_str(&match how {
            How::Instead => format!("(if {is_meant} {{ {mutated} }} else {{ {own} }})"),
            How::Before => format!("if {is_meant} {mutated} {own}"),
            How::Guard => format!("{own} if !{is_meant}"),
        });
        (at, rest) = (place.end, &others[inside..]);
    }
    out.push_str(&text[at..part.end]);
    out
}

fn offset(text: &str, (line, column): (usize, usize)) -> Result<usize> {
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let rest = text.get(start..).context("a mutant lies behind the end of its file")?;
    Ok(start + rest.chars().take(column - 1).map(char::len_utf8).sum::<usize>())
}

/// Looks for what a change is about.
struct Search<'a> {
    text: &'a str,
    change: &'a Change,
    start: usize,
    found: Option<Edit>,
}

impl Search<'_> {
    fn at(&self, place: LineColumn) -> usize {
        offset(self.text, (place.line, place.column + 1)).expect("syn has read this text")
    }

    fn range(&self, node: &impl Spanned) -> Range<usize> {
        self.at(node.span().start())..self.at(node.span().end())
    }

    /// Tokens are one line, without comments.
    fn edit(&self, place: Range<usize>, mutated: String, how: How) -> Option<Edit> {
        let mutated = mutated.parse::<TokenStream>().ok()?.to_string();
        Some(Edit { number: self.change.number, place, mutated, how })
    }

    /// The expression with something else in this part of it.
    fn replaced(&self, node: &Expr, part: Range<usize>) -> Option<Edit> {
        let whole = self.range(node);
        let mutated = [&self.text[whole.start..part.start], " ", &self.change.replacement, " "].concat();
        self.edit(whole.clone(), mutated + &self.text[part.end..whole.end], How::Instead)
    }
}

/// Whether an expression binds names for what stands after it; such a one cannot be wrapped.
fn binds(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(ExprBinary { left, right, .. }) => binds(left) || binds(right),
        _ => false,
    }
}

impl Visit<'_> for Search<'_> {
    fn visit_expr_binary(&mut self, node: &ExprBinary) {
        let whole = Expr::Binary(node.clone());
        if self.range(&node.op).start == self.start && !binds(&whole) {
            self.found = self.replaced(&whole, self.range(&node.op));
        }
        visit::visit_expr_binary(self, node);
    }

    fn visit_expr_unary(&mut self, node: &ExprUnary) {
        if self.range(&node.op).start == self.start {
            self.found = self.replaced(&Expr::Unary(node.clone()), self.range(&node.op));
        }
        visit::visit_expr_unary(self, node);
    }

    fn visit_arm(&mut self, node: &Arm) {
        let is_meant = self.range(node).start == self.start;
        match (self.change.genre.as_str(), &node.pat) {
            ("MatchArmGuard", Pat::Guard(PatGuard { guard, .. })) if self.range(&**guard).start == self.start => {
                let replacement = self.change.replacement.clone();
                self.found =
                    if binds(guard) { None } else { self.edit(self.range(&**guard), replacement, How::Instead) };
            }
            ("MatchArm", Pat::Guard(PatGuard { guard, .. })) if is_meant && !binds(guard) => {
                self.found = self.edit(self.range(&**guard), "false".to_owned(), How::Instead);
            }
            ("MatchArm", pattern) if is_meant && !matches!(pattern, Pat::Guard(_)) => {
                self.found = self.edit(self.range(pattern), String::new(), How::Guard);
            }
            _ => {}
        }
        visit::visit_arm(self, node);
    }

    fn visit_expr_struct(&mut self, node: &ExprStruct) {
        let field = node.fields.iter().find(|field| self.range(*field).start == self.start);
        if let (Some(field), Some(base), "StructField") = (field, &node.rest, self.change.genre.as_str()) {
            let [base, name] = [self.range(&**base), self.range(&field.member)].map(|range| &self.text[range]);
            let place = self.range(&field.expr);
            // `{ name }` is short for `{ name: name }`.
            self.found = match field.colon_token {
                Some(_) => self.edit(place, format!("({base}).{name}"), How::Instead),
                None => None,
            };
        }
        visit::visit_expr_struct(self, node);
    }
}
