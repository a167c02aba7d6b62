//! The manual's page of compiler flags is the one that the table prints. `cargo xtask docs` writes it.

use std::path::Path;

#[test]
fn the_page_of_flags_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/flags.md");
    let page = cotangent_driver::flags::page();
    if std::env::var_os("COTANGENT_BLESS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == page, "docs/flags.md is not what the table prints; run `cargo xtask docs`");
}
