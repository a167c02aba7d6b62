//! The headers and the C ABI: programs in C and C++ are compiled against them, also with the sanitizers, and run. The
//! layouts that both sides state are compared by the compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Compiles a program with these flags, links it with this build of the library and runs it.
fn compile_and_run(source: &str, compiler: &str, flags: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile(source, compiler, flags, &folder);
    // Once in memory, once with the folder to spill to.
    for arguments in [&[][..], &[folder.path()]] {
        let output = Command::new(&program).args(arguments).output().expect("the program starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{source} {flags:?} {arguments:?}: {}\n{errors}", output.status);
        assert!(errors.is_empty(), "{source} {flags:?} {arguments:?}:\n{errors}");
    }
}

fn compile(source: &str, compiler: &str, flags: &[&str], folder: &TempDir) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.path().join("program");
    let output = Command::new(compiler)
        .args(["-g", "-O2", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(here.join("../../include"))
        .args(flags)
        .arg(here.join("tests/programs").join(source))
        .arg(library())
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&program)
        .output()
        .expect("clang 19 is installed (cargo xtask setup)");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

/// Cargo builds all kinds of the library beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a running test has a file");
    let library = test.with_file_name("libcotangent_tape.a");
    assert!(library.exists(), "{} was not built", library.display());
    library
}

#[test]
fn the_c_interface_works() {
    compile_and_run("lane.c", "clang-19", &["-std=c11"]);
}

#[test]
fn the_c_interface_is_clean_under_the_address_sanitizer() {
    compile_and_run("lane.c", "clang-19", &["-std=c11", "-fsanitize=address,undefined", "-fno-sanitize-recover"]);
}

#[test]
fn the_c_interface_of_a_gpus_arrays_works() {
    compile_and_run("device.c", "clang-19", &["-std=c11"]);
    compile_and_run("device.c", "clang-19", &["-std=c11", "-fsanitize=address,undefined", "-fno-sanitize-recover"]);
}

#[test]
fn the_cpp_interface_works() {
    compile_and_run("threads.cpp", "clang++-19", &["-std=c++17"]);
}

#[test]
fn the_cpp_interface_is_clean_under_the_address_sanitizer() {
    compile_and_run(
        "threads.cpp",
        "clang++-19",
        &["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover"],
    );
}

#[test]
fn the_cpp_interface_is_clean_under_the_thread_sanitizer() {
    compile_and_run("threads.cpp", "clang++-19", &["-std=c++17", "-fsanitize=thread"]);
}

#[test]
fn misuse_is_an_error() {
    compile_and_run(
        "misuse.cpp",
        "clang++-19",
        &["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover"],
    );
}

#[test]
fn checkpoint_schedules_work_in_c() {
    compile_and_run("schedule.c", "clang-19", &["-std=c11"]);
    compile_and_run("schedule.c", "clang-19", &["-std=c11", "-fsanitize=address,undefined", "-fno-sanitize-recover"]);
}

#[test]
fn checkpoint_schedules_work_in_cpp() {
    compile_and_run("schedule.cpp", "clang++-19", &["-std=c++17"]);
    compile_and_run(
        "schedule.cpp",
        "clang++-19",
        &["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover"],
    );
}

#[test]
fn full_disks_are_survived() {
    let flags = ["-std=c++17", "-fsanitize=address,undefined", "-fno-sanitize-recover"];
    compile_and_run("full.cpp", "clang++-19", &flags);
}

#[test]
fn a_lane_that_closes_with_an_unread_error_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = compile("misuse.cpp", "clang++-19", &["-std=c++17"], &folder);
    let output = Command::new(&program).arg("unread").output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.starts_with("cotangent: a lane is closed with an error that nobody has read: the budget is used up"),
        "{said}"
    );
}

#[test]
fn the_examples_work() {
    compile_and_run("../../../../examples/tape/sweep.c", "clang-19", &["-std=c11"]);
    compile_and_run("../../../../examples/tape/sweep.cpp", "clang++-19", &["-std=c++17"]);
    let test = std::env::current_exe().expect("a running test has a file");
    let deps = test.parent().expect("in a folder");
    let example = deps.with_file_name("examples").join("checkpoints");
    let output = Command::new(&example).output().expect("cargo builds the examples beside the tests");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn header_and_rust_have_the_same_layout() {
    let mut text = String::from("#include <cotangent/tape.h>\n#include <stddef.h>\n");
    for (name, number) in cotangent_tape::ffi::layout() {
        text.push_str(&format!("_Static_assert({name} == {number}, \"{name}\");\n"));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("layout.c");
    std::fs::write(&source, text + "int main(void) { return 0; }\n").expect("a writable temporary folder");
    compile(source.to_str().expect("plain names"), "clang-19", &["-std=c11"], &folder);
}
