//! Developer commands: setup, bless, validate, tidy.

fn main() {}
