//! Snapshots of printed text, from modules in the IR's text form.

mod control;
mod conversions;
mod cpu;
mod effects;
mod items;
mod places;

use super::{Dialect, emit};
use crate::ir::text::parse;

/// The module as CUDA C++.
fn cuda(module: &str) -> String {
    printed(module, Dialect::Cuda)
}

/// The module as C++ for the CPU.
fn cpu(module: &str) -> String {
    printed(module, Dialect::Cpu)
}

/// The module as a part of a program for the CPU.
fn part(module: &str) -> String {
    printed(module, Dialect::CpuPart)
}

/// The body of the module's last function as CUDA C++, without its signature and indentation.
fn body(module: &str) -> String {
    let text = cuda(module);
    let function = text.rsplit("\n__device__").next().expect("a split has a first part");
    let (_, body) = function.split_once("{\n").expect("a function has a body");
    let body = body.strip_suffix("}\n").expect("a function ends in a brace");
    body.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect()
}

fn printed(module: &str, dialect: Dialect) -> String {
    let module = parse(module).expect("the test's module parses");
    let text = emit(&module, dialect);
    assert_eq!(emit(&module, dialect), text, "the same module gives the same text");
    assert!(text.lines().all(|line| line.trim_end() == line), "no line ends in a space:\n{text}");
    text
}
