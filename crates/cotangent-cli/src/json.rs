//! What commands print as JSON for programs that call them.

use anstream::println;
use anyhow::{Context, Result};
use cotangent::diagnostic::Located;
use cotangent_driver::program::Failure;
use serde::Serialize;

/// Of a program that is refused: `docs/check.md` lists the fields.
#[derive(Serialize)]
struct Refused<'a> {
    ok: bool,
    refused: &'a [Located],
}

/// Prints something as JSON.
pub(crate) fn print(shown: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string_pretty(shown).context("cannot write JSON")?);
    Ok(())
}

/// Prints why a program is refused, if that is the error.
pub(crate) fn print_refusal(error: &anyhow::Error) -> Result<()> {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Diagnostics(refusal)) => print(&Refused { ok: false, refused: &refusal.found }),
        _ => Ok(()),
    }
}
