//! Limits on size. Long files and functions are where structure is lost first; where one is right all the same, it
//! has a row with the reason.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, ExprMatch, ItemMod};

use super::complaint::Complaint;
use crate::workspace::SourceFile;

/// Lines a file, modules for tests not counted.
const FILE_LINES: usize = 800;
/// Lines a function.
const FUNCTION_LINES: usize = 80;
/// Lines a function that is mainly one match.
const MATCH_LINES: usize = 200;

/// A function or file that may be longer.
struct Exception {
    path: &'static str,
    /// The function's name, or empty for the file.
    function: &'static str,
    /// Why; for the reader of this table.
    reason: &'static str,
}

/// None so far.
const EXCEPTIONS: &[Exception] = &[];

/// Checks one Rust file.
pub(super) fn check(file: &SourceFile, syntax: &syn::File) -> Vec<Complaint> {
    let mut measure = Measure { file, test_lines: 0, complaints: Vec::new() };
    measure.visit_file(syntax);
    let lines = file.text.lines().count() - measure.test_lines;
    if lines > FILE_LINES && !is_excepted(&file.path, "") {
        let message = format!("{lines} lines without tests; at most {FILE_LINES}");
        measure.complaints.push(Complaint::new(&file.path, 1, message));
    }
    measure.complaints
}

/// Exceptions for what is no longer there, or that give no reason.
pub(super) fn stale_exceptions(files: &[SourceFile]) -> Vec<Complaint> {
    let is_stale = |exception: &&Exception| {
        exception.reason.is_empty()
            || !files
                .iter()
                .any(|file| file.path == exception.path && file.text.contains(&format!("fn {}", exception.function)))
    };
    let message =
        |exception: &Exception| format!("the exception for `{}` is stale or without reason", exception.function);
    EXCEPTIONS.iter().filter(is_stale).map(|stale| Complaint::new(stale.path, 1, message(stale))).collect()
}

fn is_excepted(path: &str, function: &str) -> bool {
    EXCEPTIONS.iter().any(|exception| exception.path == path && exception.function == function)
}

struct Measure<'a> {
    file: &'a SourceFile,
    /// Lines of modules for tests.
    test_lines: usize,
    complaints: Vec<Complaint>,
}

impl Measure<'_> {
    fn function(&mut self, name: &syn::Ident, attributes: &[Attribute], block: &Block) {
        let first = name.span().start().line;
        let lines = block.span().end().line - first + 1;
        let limit = if is_mainly_match(block, lines) { MATCH_LINES } else { FUNCTION_LINES };
        if lines > limit && !is_excepted(&self.file.path, &name.to_string()) {
            let message = format!("function `{name}` has {lines} lines; at most {limit}");
            self.complaints.push(Complaint::new(&self.file.path, first, message));
        }
        for forbidden in ["ignore", "should_panic"] {
            if attributes.iter().any(|attribute| attribute.path().is_ident(forbidden)) {
                let message = format!("`{name}` is #[{forbidden}]; a test runs and says what it expects");
                self.complaints.push(Complaint::new(&self.file.path, first, message));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Measure<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig.ident, &item.attrs, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, &item.attrs, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig.ident, &item.attrs, block);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if item.content.is_some() && item.attrs.iter().any(is_cfg_test) {
            self.test_lines += lines_of(item);
        }
        visit::visit_item_mod(self, item);
    }
}

fn is_cfg_test(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|argument| argument == "test")
}

/// Whether one match takes three quarters of the function.
fn is_mainly_match(block: &Block, lines: usize) -> bool {
    struct Longest(usize);
    impl<'ast> Visit<'ast> for Longest {
        fn visit_expr_match(&mut self, item: &'ast ExprMatch) {
            self.0 = self.0.max(lines_of(item));
        }
    }
    let mut longest = Longest(0);
    longest.visit_block(block);
    longest.0 * 4 >= lines * 3
}

fn lines_of(item: &impl Spanned) -> usize {
    let span = item.span();
    span.end().line - span.start().line + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(text: &str) -> Vec<String> {
        let file = SourceFile { path: "a.rs".to_owned(), text: text.to_owned() };
        let syntax = syn::parse_file(text).unwrap();
        check(&file, &syntax).into_iter().map(|complaint| complaint.message).collect()
    }

    #[test]
    fn long_functions_are_found_wherever_they_are() {
        let body = "g();\n".repeat(80);
        let found = messages(&format!("impl A {{ fn long() {{\n{body}}} }}\nfn short() {{}}"));
        assert_eq!(found, ["function `long` has 82 lines; at most 80"]);
    }

    #[test]
    fn a_match_may_be_longer() {
        let arms = "1 => g(),\n".repeat(100);
        assert_eq!(messages(&format!("fn f() {{ match x {{\n{arms}}} }}")), [""; 0]);
        let arms = "1 => g(),\n".repeat(220);
        assert_eq!(messages(&format!("fn f() {{ match x {{\n{arms}}} }}")).len(), 1);
    }

    #[test]
    fn long_files_are_found_and_tests_do_not_count() {
        let functions = "fn f() {}\n".repeat(790);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "fn g() {}\n".repeat(100));
        assert_eq!(messages(&format!("{functions}{tests}")), [""; 0]);
        assert_eq!(messages(&"fn f() {}\n".repeat(801)).len(), 1);
    }

    #[test]
    fn tests_that_do_not_run_are_found() {
        assert_eq!(messages(concat!("#[test]\n#[", "ignore]\nfn f() {}")).len(), 1);
    }
}
