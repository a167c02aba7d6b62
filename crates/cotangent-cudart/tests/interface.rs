//! The library has the interface of NVIDIA's: its structures have the layout of CUDA 13's headers, and every function that
//! NVIDIA's library exports is there, under the same name. Besides there is only what tells of the host's accesses.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use object::{Object, ObjectSymbol};

use crate::toolkit::{library, toolkit};
use cotangent_cudart::types;

#[test]
fn structures_have_the_layout_of_the_headers() {
    let mut text = String::from("#include <cuda_runtime_api.h>\n#include <stddef.h>\n");
    for (structure, field, number) in types::layout() {
        let actual = match field {
            "" => format!("sizeof({structure})"),
            _ => format!("offsetof({structure}, {field})"),
        };
        writeln!(text, "static_assert({actual} == {number}, \"{structure} {field}\");").expect("to a string");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("layout.cpp");
    std::fs::write(&source, text).expect("a writable temporary folder");
    let output = Command::new("g++")
        .arg("-fsyntax-only")
        .arg("-I")
        .arg(toolkit("include"))
        .arg(&source)
        .output()
        .expect("g++ is installed (cargo xtask setup)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn every_function_of_the_library_is_there() {
    let (ours, nvidias) = (exports(&library()), exports(&toolkit("lib/libcudart.so.13")));
    assert!(nvidias.len() > 400);
    let (callbacks, mut functions): (BTreeSet<_>, BTreeSet<_>) =
        ours.into_iter().partition(|name| name.starts_with("__tsan_") || name.starts_with("__wrap_"));
    assert!(functions.remove("cotangent_runtime_table"), "programs of `cotangent build` ask for it");
    assert_eq!(functions, nvidias);
    assert!(callbacks.contains("__tsan_read4"), "{callbacks:?}");
}

/// The functions that a library exports.
fn exports(path: &Path) -> BTreeSet<String> {
    let bytes = std::fs::read(path).expect("a library");
    let file = object::File::parse(bytes.as_slice()).expect("a shared object");
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    defined.map(|symbol| symbol.name().expect("a name").to_owned()).collect()
}
