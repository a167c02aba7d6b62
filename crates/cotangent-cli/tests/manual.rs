//! The manual's page of diagnostics has a heading for every code of the compiler and of the checks, with the title that
//! the code has, and for no other.

use std::path::Path;

#[test]
fn the_page_of_diagnostics_has_every_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics.md");
    let page = std::fs::read_to_string(path).unwrap();
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("### ")).collect();

    let of_compiler = cotangent::diagnostic::CODES.iter().map(|code| (code.id, code.title));
    let of_checks = cotangent_cpu::check::TABLE.iter().map(|entry| (entry.name, entry.title));
    let expected: Vec<String> = of_compiler.chain(of_checks).map(|(code, title)| format!("{code}: {title}")).collect();
    assert_eq!(headings, expected);
}
