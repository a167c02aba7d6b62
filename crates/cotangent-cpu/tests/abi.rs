//! The header `abi.h` and `abi.rs` describe the same memory: every size and offset is compared by
//! compiling a C++ program of assertions.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use cotangent_cpu::abi;

#[test]
fn header_and_rust_have_the_same_layout() {
    let mut text = String::from("#include <cotangent/abi.h>\n");
    for (structure, field, number) in abi::layout() {
        let actual = match field {
            "" => format!("sizeof({structure})"),
            _ => format!("offsetof({structure}, {field})"),
        };
        writeln!(text, "static_assert({actual} == {number}, \"{structure} {field}\");").expect("to a string");
    }
    writeln!(text, "static_assert(COTANGENT_ABI_VERSION == {}, \"\");", abi::ABI_VERSION).expect("to a string");
    writeln!(text, "static_assert(COTANGENT_MAX_DYNAMIC_SHARED == {}, \"\");", abi::MAX_DYNAMIC_SHARED)
        .expect("to a string");
    writeln!(text, "static_assert(COTANGENT_SHARED_GUARD == {}, \"\");", abi::SHARED_GUARD).expect("to a string");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("layout.cpp");
    std::fs::write(&source, text).expect("a writable temporary folder");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/cpu");
    let output = Command::new("clang++-19")
        .arg("-fsyntax-only")
        .arg("-std=c++17")
        .arg("-I")
        .arg(include)
        .arg(&source)
        .output()
        .expect("clang++-19 is installed (cargo xtask setup)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
