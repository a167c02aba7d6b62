//! Rules about the rooms of reverse mode: its files do not call each other in large circles, and none of its types knows
//! everything.
//!
//! Who calls whom is found by names: a call is to the one visible function of that name in these files, if there is just one
//! and the caller's own file has none. A name that several files define is not followed.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Expr, ExprCall, ExprMethodCall, ImplItemFn, ItemFn, ItemStruct, Visibility};

use super::complaint::Complaint;
use super::graph::{Arrows, circles};
use crate::workspace::SourceFile;

/// Where these rules hold.
const ROOMS: &str = "crates/cotangent/src/transform/reverse/";

/// How many files may call each other in a circle: a block has loops, and a loop has a block.
const LARGEST_CIRCLE: usize = 3;

/// How many fields a type may have.
const MOST_FIELDS: usize = 8;

/// A function's name, and whether it is called on a value.
type Callee = (String, bool);

/// What a file defines and calls.
#[derive(Default)]
struct Calls {
    visible: BTreeSet<Callee>,
    own: BTreeSet<Callee>,
    called: BTreeSet<Callee>,
    large_types: Vec<(String, usize, usize)>,
}

pub(super) fn check(files: &[SourceFile]) -> Vec<Complaint> {
    let mut found: BTreeMap<&str, Calls> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(ROOMS) && file.path.ends_with(".rs")) {
        let Ok(syntax) = syn::parse_file(&file.text) else { continue };
        let mut calls = Calls::default();
        calls.visit_file(&syntax);
        found.insert(&file.path, calls);
    }
    let mut complaints = Vec::new();
    for (path, calls) in &found {
        for (name, line, fields) in &calls.large_types {
            let message = format!("`{name}` has {fields} fields, and a type of reverse mode at most {MOST_FIELDS}");
            complaints.push(Complaint::new(path, *line, message));
        }
    }
    for circle in circles(&edges(&found)).iter().filter(|circle| circle.len() > LARGEST_CIRCLE) {
        let names: Vec<&str> = circle.iter().map(|path| path.trim_start_matches(ROOMS)).collect();
        let message = format!("{} files call each other in a circle: {}", circle.len(), names.join(", "));
        complaints.extend(circle.first().map(|path| Complaint::new(path, 1, message)));
    }
    complaints
}

/// Which file calls functions of which.
fn edges<'a>(files: &BTreeMap<&'a str, Calls>) -> Arrows<&'a str> {
    let mut homes: BTreeMap<&Callee, Vec<&'a str>> = BTreeMap::new();
    for (path, calls) in files {
        calls.visible.iter().for_each(|callee| homes.entry(callee).or_default().push(path));
    }
    let called = |(path, calls): (&&'a str, &Calls)| {
        let others = calls.called.difference(&calls.own).filter_map(|callee| match homes.get(callee)?.as_slice() {
            [home] => Some(*home),
            _ => None,
        });
        (*path, others.collect())
    };
    files.iter().map(called).collect()
}

impl Calls {
    fn define(&mut self, name: String, has_receiver: bool, visibility: &Visibility) {
        if !matches!(visibility, Visibility::Inherited) {
            self.visible.insert((name.clone(), has_receiver));
        }
        self.own.insert((name, has_receiver));
    }
}

impl<'ast> Visit<'ast> for Calls {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.define(item.sig.ident.to_string(), false, &item.vis);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.define(item.sig.ident.to_string(), item.sig.receiver().is_some(), &item.vis);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.called.insert((call.method.to_string(), true));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(path) = &*call.func
            && let Some(last) = path.path.segments.last()
        {
            self.called.insert((last.ident.to_string(), false));
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if item.fields.len() > MOST_FIELDS {
            let line = item.ident.span().start().line;
            self.large_types.push((item.ident.to_string(), line, item.fields.len()));
        }
        visit::visit_item_struct(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let file =
            |(name, text): &(&str, &str)| SourceFile { path: format!("{ROOMS}{name}"), text: (*text).to_owned() };
        let files: Vec<SourceFile> = files.iter().map(file).collect();
        check(&files).iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn four_files_that_call_each_other_are_a_circle() {
        let files = [
            ("a.rs", "pub(super) fn first() { second(); }"),
            ("b.rs", "pub(super) fn second() { x.third(); }"),
            ("c.rs", "impl X { pub(super) fn third(&self) { fourth(); } }"),
            ("d.rs", "pub(super) fn fourth() { first(); }"),
        ];
        let found = complaints(&files);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("4 files call each other in a circle: a.rs, b.rs, c.rs, d.rs"), "{found:?}");
        assert!(complaints(&files[..3]).is_empty());
    }

    #[test]
    fn a_function_is_not_taken_for_a_method_or_for_that_of_another_file() {
        let files = [
            ("a.rs", "pub(super) fn first() { second(); }"),
            ("b.rs", "pub(super) fn second() { third(); } fn fourth() {}"),
            ("c.rs", "pub(super) fn third() { fourth(); }"),
            ("d.rs", "pub(super) fn fourth() { list.first(); }"),
        ];
        assert!(complaints(&files).is_empty());
    }

    #[test]
    fn nine_fields_are_too_many() {
        let fields: String = (0..9).map(|number| format!("f{number}: u8, ")).collect();
        let found = complaints(&[("a.rs", &format!("struct All {{ {fields} }}"))]);
        assert!(found[0].contains("`All` has 9 fields"), "{found:?}");
    }
}
