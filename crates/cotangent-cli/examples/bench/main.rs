//! The figures that Cotangent promises, measured in one run: a printed saxpy without barriers against the plain loop,
//! its scaling over two OS threads, the cost of a barrier, and the reading of a file against Clang's own dump of it.
//!
//! `cargo xtask bench` calls it. The exit code is 1 if a figure is not reached.

mod reading;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use cotangent_cpu::{Config, run_program};
use cotangent_driver::compile::{CpuRequest, Overlay, compile};
use cotangent_driver::flags::{self, ParseFlags};
use cotangent_driver::program::{self, Form, Input};
use cotangent_driver::{Environment, Tools};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What was measured, against what was promised.
struct Figure {
    what: String,
    value: f64,
    limit: Limit,
}

enum Limit {
    AtMost(f64),
    AtLeast(f64),
    Unlimited,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["exec", threads, program, rest @ ..] => return exec(threads, program, rest),
        ["read"] => reading::read_once(),
        _ => measure_all(),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Prints all figures; whether all promises are kept.
fn measure_all() -> Outcome<bool> {
    let tools = Tools::find(Environment::of_process())?;
    let mut figures = Vec::new();
    for words in [["-O3", "-Xcompiler", "-march=native"], ["-O2", "-Xcompiler", "-march=native"]] {
        let flags = flags::read(&words.map(str::to_owned))?;
        figures.extend(kernels(&tools, &flags, words[0])?);
    }
    figures.extend(reading::figures(&tools)?);
    let mut all_kept = true;
    for Figure { what, value, limit } in figures {
        let (promise, is_kept) = match limit {
            Limit::AtMost(most) => (format!("at most {most}"), value <= most),
            Limit::AtLeast(least) => (format!("at least {least}"), value >= least),
            Limit::Unlimited => (String::new(), true),
        };
        all_kept &= is_kept;
        println!("{what:<58} {value:>9.2}  {promise}{}", if is_kept { "" } else { "  MISSED" });
    }
    Ok(all_kept)
}

/// The file that is measured.
fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bench/kernels.cu")
}

fn input<'a>(file: &'a Path, flags: &'a ParseFlags) -> Input<'a> {
    Input { file, flags, cuda_path: None, colour: false }
}

/// Prints the kernels, compiles them with what measures them, and runs that.
fn kernels(tools: &Tools, flags: &ParseFlags, level: &str) -> Outcome<Vec<Figure>> {
    let file = source();
    let mut text = String::new();
    for kernel in ["saxpy", "barriers", "shuffles"] {
        text.push_str(&program::print(tools, &input(&file, flags), kernel, Form::Cpu, None)?);
    }
    text.push_str(include_str!("measure.cpp"));
    let folder = tempfile::tempdir()?;
    let shared_object = folder.path().join("measure.so");
    let units = [file.clone()];
    let texts = [Overlay { path: file, text }];
    let request =
        CpuRequest { units: &units, texts: &texts, flags, check: false, colour: false, output: &shared_object };
    compile(tools, &request)?;

    let one_core = numbers(&run(&shared_object, "1", &[])?)?;
    let [launched, plain, barrier, shuffle] = one_core[..] else { return Err("four figures were expected".into()) };
    // In turn, so that both meet the same load of the machine.
    let (mut one, mut two) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..5 {
        one = one.min(numbers(&run(&shared_object, "1", &["wall"])?)?[0]);
        two = two.min(numbers(&run(&shared_object, "2", &["wall"])?)?[0]);
    }
    let figure = |what: &str, value: f64, limit| Figure { what: format!("{level} {what}"), value, limit };
    Ok(vec![
        figure("saxpy of 1e7, printed, one core, ms", launched / 1e6, Limit::Unlimited),
        figure("saxpy of 1e7, plain loop, one core, ms", plain / 1e6, Limit::Unlimited),
        figure("saxpy, printed against plain loop", launched / plain, Limit::AtMost(1.5)),
        figure("saxpy, one OS thread against two by the wall clock", one / two, Limit::AtLeast(1.0)),
        figure("barrier of 256 threads, ns a thread", barrier, Limit::AtMost(60.0)),
        figure("shuffle of 256 threads, ns a thread", shuffle, Limit::Unlimited),
    ])
}

fn numbers(text: &str) -> Outcome<Vec<f64>> {
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    Ok(numbers?)
}

/// Runs a compiled program in a child process, which is this benchmark again, and returns what it prints.
fn run(shared_object: &Path, threads: &str, words: &[&str]) -> Outcome<String> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["exec", threads]).arg(shared_object).args(words).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn exec(threads: &str, program: &str, words: &[&str]) -> ExitCode {
    let config = Config { threads: threads.parse().unwrap_or(1), ..Config::default() };
    let arguments: Vec<&str> = std::iter::once("measure").chain(words.iter().copied()).collect();
    match run_program(Path::new(program), &arguments, config) {
        Ok(code) => std::process::exit(code),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
