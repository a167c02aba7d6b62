//! Who notices if a fact or a pass is wrong? Each fact doubted: the same numbers. Each fact denied: the check fails. Each pass
//! left out: a diagnostic, or the same numbers.

use std::path::Path;
use std::process::{Command, Output};

use cotangent::transform::{FACTS, passes};

/// The arguments of functions that the defaults do not fit.
const ARGUMENTS: &[(&str, &str)] = &[
    ("repetition", "in<float>(32), 3"),
    ("reload", "out<float>(32), in<float>(64), 4"),
    ("iterations", "out<float>(32), in<float>(32), 4"),
    ("entries", "out<float>(32), in<float>(32), 4"),
    ("size", "in<float>(8), 8"),
    ("results_of_runtime", "in<float>(8), 8"),
    ("on_device", "in<float>(8), 0.3f, 8"),
    ("remove_jumps", "out<float>(32), in<float>(32), 30"),
    ("masks_of_those_present", "out<float>(32), in<float>(32), 32"),
    ("split_records", "out<float>(32), in<float>(32), 4"),
    ("pointers_to_indices", "out<float>(32), in<float>(32), 4"),
    ("counted_loops", "out<float>(32), in<float>(32), 4"),
    ("references_to_pointers", "out<float>(32), in<float>(32), 4"),
    ("privatize", "out<float>(32), in<float>(32), 4"),
];

/// Functions of the host, which have no launch.
const OF_HOST: &[&str] = &["size", "results_of_runtime", "on_device"];

/// Checks a function of a file in this folder.
fn check(file: &str, function: &str, words: &[&str]) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trust").join(file);
    let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
    command.arg("check").arg(path).args(["--fn", function, "--samples", "1"]).args(words);
    if !OF_HOST.contains(&function) {
        command.args(["--launch", if function == "alone" { "4x32" } else { "1x32" }]);
    }
    if function == "once" {
        command.arg("--pure");
    }
    if let Some((_, arguments)) = ARGUMENTS.iter().find(|(name, _)| *name == function) {
        command.args(["--args", arguments]);
    }
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_fact_that_is_doubted_changes_no_number() {
    for (word, _) in FACTS {
        let output = check("facts.cu", &word.replace('-', "_"), &["--doubt", word]);
        assert!(output.status.success(), "without {word}:\n{}", said(&output));
    }
}

#[test]
fn a_fact_that_is_denied_is_noticed() {
    for (word, _) in FACTS {
        let output = check("facts.cu", &word.replace('-', "_"), &["--deny", word]);
        let said = said(&output);
        assert!(!output.status.success(), "nobody notices that {word} is wrong:\n{said}");
        assert!(!said.contains("panicked") && !said.contains("error[C0999]"), "{word}:\n{said}");
    }
}

#[test]
fn a_pass_that_is_left_out_is_missed_or_does_not_matter() {
    for pass in passes() {
        let output = check("passes.cu", pass, &["--leave-out", pass]);
        let said = said(&output);
        assert!(output.status.success() || said.contains("error[C"), "without {pass}:\n{said}");
    }
}
