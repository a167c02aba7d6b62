//! The gradients of random whole programs are right. `cargo xtask programs` checks more of them.

use std::process::Command;

/// How many programs.
const COUNT: u64 = 40;

#[test]
fn gradients_of_random_programs_are_right() {
    let stated = std::env::var("COTANGENT_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    // A fresh one once 5,000 programs are right: docs/design/random-programs.md has the figures.
    let seed = stated.unwrap_or(1000);
    println!("COTANGENT_SEED={seed}");
    let output = Command::new(env!("CARGO_BIN_EXE_cotangent"))
        .args(["__programs", "--seeds", &format!("{seed}..{}", seed + COUNT)])
        .output()
        .expect("the command can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(
        output.status.success(),
        "COTANGENT_SEED={seed} shows it again\n{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_seed_means_the_same_program_for_ever() {
    let print = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        command.args(["__programs", "--print", "--seeds", "7..12"]).output().expect("the command can be started").stdout
    };
    let (first, second) = (print(), print());
    assert!(first == second && first.len() > 1000);
}
