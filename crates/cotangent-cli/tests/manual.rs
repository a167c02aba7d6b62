//! Pages that repeat a table of the code have all of it, and nothing else: the page of diagnostics every code of the compiler
//! and of the checks, with the title that the code has; ARCHITECTURE.md the passes of the normal form, in their order.

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

#[test]
fn the_map_has_the_passes_in_their_order() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, table) =
        page.split_once("| pass | file | afterwards |\n| --- | --- | --- |\n").expect("the table is there");
    let rows = table.lines().map_while(|line| line.strip_prefix("| `"));
    let names: Vec<&str> = rows.filter_map(|row| row.split_once('`')).map(|(name, _)| name).collect();
    assert_eq!(names, cotangent::transform::passes().collect::<Vec<_>>());
}
