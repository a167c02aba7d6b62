//! Measures the executor: a barrier-free saxpy against the plain C++ loop, its scaling over two OS
//! threads, and what a barrier costs. The program measured is `speed.cpp` beside this file.
//!
//! `cargo run --release -p cotangent-cpu --example speed`

use std::path::Path;
use std::process::{Command, exit};

use cotangent_cpu::{Config, run_program};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // The child: the program to load, the number of OS threads, and the program's own arguments.
    if let [name, program, threads, rest @ ..] = arguments.as_slice() {
        let config = Config { threads: threads.parse().unwrap_or(1), ..Config::default() };
        let program_arguments: Vec<&String> = std::iter::once(name).chain(rest).collect();
        match run_program(Path::new(program), &program_arguments, config) {
            Ok(code) => exit(code),
            Err(error) => {
                eprintln!("{error}");
                exit(1)
            }
        }
    }

    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("speed.so");
    compile(&program);
    print!("{}", run(&program, &["1"]));
    // In turn, so that both meet the same load of the machine.
    let time = |threads: &str| -> f64 { run(&program, &[threads, "wall"]).trim().parse().unwrap_or(f64::NAN) };
    let rounds: Vec<(f64, f64)> = (0..5).map(|_| (time("1"), time("2"))).collect();
    let least = |times: fn(&(f64, f64)) -> f64| rounds.iter().map(times).fold(f64::INFINITY, f64::min);
    let (one, two) = (least(|round| round.0) * 1e3, least(|round| round.1) * 1e3);
    println!("saxpy by the wall clock: one OS thread {one:.2} ms, two {two:.2} ms, {:.2} times as fast", one / two);
}

fn compile(program: &Path) {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let include = crate_folder.join("../../include");
    let status = Command::new("clang++-19")
        .args(["-std=c++17", "-O3", "-march=native", "-fPIC", "-shared"])
        .arg("-I")
        .arg(include.join("cpu"))
        .arg("-I")
        .arg(include.join("common"))
        .arg(crate_folder.join("examples/speed.cpp"))
        .arg(include.join("cpu/cotangent/support.cpp"))
        .arg("-o")
        .arg(program)
        .status()
        .expect("clang++-19 is installed (cargo xtask setup)");
    assert!(status.success(), "speed.cpp does not compile");
}

fn run(program: &Path, arguments: &[&str]) -> String {
    let executable = std::env::current_exe().expect("the path of this executable");
    let output = Command::new(executable).arg(program).args(arguments).output().expect("a child process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
