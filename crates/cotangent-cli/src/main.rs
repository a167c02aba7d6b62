//! The `cotangent` command.

fn main() {}
