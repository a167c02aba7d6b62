//! `cotangent run --printed` against `cotangent run`: each program of `tests/printed` prints the same on both paths,
//! and says which launches stay direct.

use std::path::Path;
use std::process::{Command, Output};

fn run(program: &str, words: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/printed");
    Command::new(env!("CARGO_BIN_EXE_cotangent"))
        .current_dir(folder)
        .args(["run", program])
        .args(words)
        .output()
        .unwrap()
}

/// Runs on both paths, and returns the notes of the printed one.
fn notes_of_same_output(program: &str) -> Vec<String> {
    let direct = run(program, &[]);
    let text = String::from_utf8_lossy(&direct.stdout);
    assert!(direct.status.success() && !text.is_empty(), "{}", String::from_utf8_lossy(&direct.stderr));
    for words in [&["--printed"][..], &["--printed", "--check"]] {
        let printed = run(program, words);
        let stderr = String::from_utf8_lossy(&printed.stderr);
        assert_eq!(String::from_utf8_lossy(&printed.stdout), text, "{words:?}: {stderr}");
        assert!(printed.status.success(), "{words:?}: {stderr}");
    }
    let printed = run(program, &["--printed"]);
    String::from_utf8_lossy(&printed.stderr).lines().map(str::to_owned).collect()
}

#[test]
fn structs_variables_shared_memory_and_templates() {
    assert_eq!(notes_of_same_output("program.cu"), [] as [&str; 0]);
}

#[test]
fn launches_that_cannot_be_printed_say_why() {
    let notes = notes_of_same_output("kept.cu");
    let expected = [
        ("kept.cu:29", "instantiations of its template launch different kernels"),
        ("kept.cu:41", "cannot be written there"),
        ("kept.cu:43", "calls itself"),
    ];
    assert_eq!(notes.len(), expected.len(), "{notes:#?}");
    for (note, (place, reason)) in notes.iter().zip(expected) {
        assert!(note.contains(&format!("launch at {place} stays direct")) && note.contains(reason), "{note}");
    }
}
