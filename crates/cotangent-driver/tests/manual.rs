//! The manual's pages of compiler flags, functions and calls of the runtime are those that the tables print. `cargo xtask docs` writes them.

use std::path::Path;

#[test]
fn the_page_of_flags_is_current() {
    is_current("docs/flags.md", &cotangent_driver::flags::page());
}

#[test]
fn the_page_of_functions_is_current() {
    is_current("docs/functions.md", &cotangent::rules::page_of_functions());
}

#[test]
fn the_page_of_the_runtime_is_current() {
    is_current("docs/runtime.md", &cotangent::rules::page_of_runtime());
}

fn is_current(path: &str, page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("COTANGENT_BLESS").is_some() {
        std::fs::write(&file, page).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == page, "{path} is not what the table prints; run `cargo xtask docs`");
}
