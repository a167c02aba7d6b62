//! The derivatives of random kernels and of random whole programs are right. `cargo xtask random` and `cargo xtask programs`
//! check more of them.

use std::process::Command;
use std::time::SystemTime;

/// How many kernels.
const KERNELS: u64 = 275;

/// How many with each planner alone.
const ALONE: u64 = 25;

/// How many programs.
const PROGRAMS: u64 = 40;

#[test]
fn derivatives_of_random_kernels_are_right() {
    check(&["__random"], KERNELS);
}

#[test]
fn derivatives_with_one_planner_alone_are_the_same() {
    check(&["__random", "--alone"], ALONE);
}

#[test]
fn gradients_of_random_programs_are_right() {
    check(&["__programs"], PROGRAMS);
}

#[test]
fn a_seed_means_the_same_kernel_for_ever() {
    print_twice("__random");
}

#[test]
fn a_seed_means_the_same_program_for_ever() {
    print_twice("__programs");
}

/// Checks so many from the seed that `COTANGENT_SEED` states, or from a fresh one.
fn check(what: &[&str], count: u64) {
    let stated = std::env::var("COTANGENT_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seed = stated.unwrap_or_else(now);
    println!("COTANGENT_SEED={seed}");
    let output = Command::new(env!("CARGO_BIN_EXE_cotangent"))
        .args(what)
        .args(["--seeds", &format!("{seed}..{}", seed + count)])
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

fn print_twice(what: &str) {
    let print = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        command.args([what, "--print", "--seeds", "7..12"]).output().expect("the command can be started").stdout
    };
    let (first, second) = (print(), print());
    assert!(first == second && first.len() > 1000);
}
