//! The derivatives of random kernels are right, whatever the seed. `cargo xtask random` checks more of them.

use std::process::Command;
use std::time::SystemTime;

/// How many kernels.
const COUNT: u64 = 300;

#[test]
fn derivatives_of_random_kernels_are_right() {
    let fixed = std::env::var("COTANGENT_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let seed = fixed.unwrap_or(now);
    println!("COTANGENT_SEED={seed}");
    let output = Command::new(env!("CARGO_BIN_EXE_cotangent"))
        .args(["__random", "--seeds", &format!("{seed}..{}", seed + COUNT)])
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
fn a_seed_means_the_same_kernel_for_ever() {
    let print = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cotangent"));
        command.args(["__random", "--print", "--seeds", "7..12"]).output().expect("the command can be started").stdout
    };
    let (first, second) = (print(), print());
    assert!(first == second && first.len() > 1000);
}
