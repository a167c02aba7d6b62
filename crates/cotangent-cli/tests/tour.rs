//! The tour, `examples/tour.cu`, is a program as users write it: it prints the same however it is run.

use std::path::Path;
use std::process::Command;

/// Runs the tour and compares what it prints. Nothing is said besides.
fn tour(options: &[&str]) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let expected = std::fs::read_to_string(examples.join("tour.expected")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    let output = command.current_dir(examples).args(["run", "tour.cu"]).args(options).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{options:?}: {stderr}");
    assert_eq!(output.status.code(), Some(0), "{options:?}: {stderr}");
    assert!(stderr.is_empty(), "{options:?}: {stderr}");
}

#[test]
fn directly() {
    tour(&[]);
}

#[test]
fn with_checks_which_find_nothing() {
    tour(&["--check"]);
}

#[test]
fn in_another_order_of_blocks_and_threads() {
    tour(&["--seed", "7"]);
}

#[test]
fn on_one_and_on_two_threads() {
    tour(&["--threads", "1"]);
    tour(&["--threads", "2"]);
}
