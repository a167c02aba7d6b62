//! The examples that ask for gradients, as their READMEs tell to use them: run on the CPU, built with the real nvcc, and
//! compared with JAX.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use cotangent_driver::Environment;
use cotangent_driver::tools::find_nvcc;

fn folder(example: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example)
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {text}");
    output
}

fn cotangent(example: &str, words: &[&str]) -> Output {
    succeeds(Command::new(env!("CARGO_BIN_EXE_cotangent")).current_dir(folder(example)).args(words))
}

/// What the README shows under `$ COMMAND`.
fn shown(example: &str, command: &str) -> String {
    let readme = std::fs::read_to_string(folder(example).join("README.md")).unwrap();
    let (_, rest) = readme.split_once(&format!("$ {command}\n")).expect("the README shows the command");
    rest.split_once("```").expect("it is a block").0.to_owned()
}

/// On the CPU it prints what the README shows, and the checks of memory and races find nothing.
fn runs(example: &str) {
    let file = format!("{example}.cu");
    let expected = shown(example, &format!("cotangent run {file}"));
    for words in [&["run", &file][..], &["run", &file, "--check"]] {
        let output = cotangent(example, words);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

/// The real nvcc builds a program of it, without a warning.
fn builds(example: &str) {
    let nvcc = find_nvcc(&Environment::of_process()).expect("run `cargo xtask setup`").path;
    let output = tempfile::tempdir().unwrap();
    let program = output.path().join(example);
    let words = ["-arch=sm_80", "-Werror", "all-warnings", &format!("{example}.cu"), "-o", program.to_str().unwrap()];
    cotangent(example, &[&["cc", nvcc.to_str().unwrap()][..], &words].concat());
    assert!(program.is_file());
}

#[test]
fn contraction_runs() {
    runs("contraction");
}

#[test]
fn contraction_builds() {
    builds("contraction");
}

#[test]
fn contraction_agrees_with_jax() {
    let scratch = tempfile::tempdir().unwrap();
    let tensors = scratch.path().join("tensors.txt");
    cotangent("contraction", &["run", "contraction.cu", "--args", tensors.to_str().unwrap()]);
    let python = Environment::of_process().cache().unwrap().join("jax/bin/python");
    assert!(python.is_file(), "run `cargo xtask setup`");
    succeeds(Command::new(python).current_dir(folder("contraction")).arg("compare_with_jax.py").arg(tensors));
}

#[test]
fn black_scholes_runs() {
    runs("black_scholes");
}

#[test]
fn black_scholes_builds() {
    builds("black_scholes");
}

#[test]
fn time_loop_runs() {
    // It prints how long it takes, and fails if its two gradients differ.
    for words in [&["run", "time_loop.cu"][..], &["run", "time_loop.cu", "--check", "--args", "200"]] {
        assert_eq!(String::from_utf8_lossy(&cotangent("time_loop", words).stderr), "");
    }
}

#[test]
fn time_loop_builds() {
    builds("time_loop");
}
