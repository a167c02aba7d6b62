//! Developer commands: `cargo xtask setup`, `tidy`, `validate`, `bless`, `mutate`, `random`, `programs`, `faults`,
//! `mutants`, `corpus`, `docs`, `kernels`, `bench`, `race`, `budget`, `wheel`, `python`, `torch`, `jax`, `rust`.

mod budget;
mod compiled;
mod corpus;
mod faults;
mod kernels;
mod mutants;
mod process;
mod python;
mod race;
mod rust;
mod setup;
mod tidy;
mod validate;
mod workspace;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use python::Profile;

/// Developer commands of Cotangent.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Install what any step of the gate needs: Clang 19 with its sanitizers, NVIDIA's compiler, CUDA 12.4 headers,
    /// CMake, JAX, test tools. A no-op when it is all there.
    Setup,
    /// Check the structure of the sources: module edges, sizes, how files begin, tests that never run, paths of one
    /// machine, programs that setup does not install.
    Tidy,
    /// Compile the printed CUDA of all fixtures (`*.printed.cu`, `*.grad.cu`, `*.forward.cu`) with nvcc and ptxas.
    Validate {
        /// Compile only files whose path contains this.
        filter: Option<String>,
        /// Gradients for all four architectures, and tangents too.
        #[arg(long)]
        full: bool,
        /// Gradients as programs have them, after the fixture's own text, for all four architectures.
        #[arg(long)]
        own: bool,
    },
    /// Compile the derivatives of all fixtures with nvcc, execute what it made, and compare with the CPU's.
    Nvcc {
        /// Only fixtures whose name contains this.
        filter: Option<String>,
    },
    /// Run the tests of fixtures and texts, and write what they print into the committed files.
    Bless {
        /// Bless only those whose name contains this.
        filter: Option<String>,
    },
    /// Damage dumps of Clang, texts of the IR and programs in ten thousand ways each: nothing may panic, hang or take
    /// over 1 GB.
    Mutate,
    /// Check the derivatives of random kernels on the CPU; a wrong one is made small and printed.
    Random {
        /// How many kernels.
        #[arg(long, default_value_t = 10_000)]
        count: u64,
        /// The seed of the first.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Check the derivatives with each planner alone too, and with none.
        #[arg(long)]
        alone: bool,
        /// Write wrong kernels into this folder, as fixtures.
        #[arg(long)]
        wrong: Option<String>,
    },
    /// Compare the gradients of random whole programs with differences; a wrong one is made small and printed.
    Programs {
        /// How many programs.
        #[arg(long, default_value_t = 1_000)]
        count: u64,
        /// The seed of the first.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// Write wrong programs into this folder.
        #[arg(long)]
        wrong: Option<String>,
    },
    /// Put mended mistakes back, one at a time, and see that random programs find each.
    Faults {
        /// Only faults whose name contains this.
        filter: Option<String>,
        /// The seed of the first program.
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Change `analysis` and `transform` at random places, one at a time, and see that tests notice each. Goes on where it
    /// was stopped.
    Mutants(mutants::Draw),
    /// Differentiate and check functions of public programs, and print a table.
    Corpus {
        /// The functions, as docs/measured/host-functions.tsv lists them.
        list: PathBuf,
        /// The folder in which the programs lie.
        programs: PathBuf,
    },
    /// Write the pages of the manual that are printed from tables: docs/flags.md, docs/functions.md, docs/runtime.md.
    Docs,
    /// Print what ptxas says about kernels and their gradients, as a table.
    Kernels,
    /// Measure what is promised: the speed of printed kernels, and the reading of files.
    Bench,
    /// Measure what gradients cost, beside those by hand and those of other tools, on the CPU and as kernels; write the page
    /// docs/benchmarks/race.md with its picture.
    Race(race::Options),
    /// Measure what a budget of memory buys a long loop, and write the page docs/benchmarks/checkpoints.md with its picture.
    Budget(budget::Options),
    /// Make the wheel of the Python package, with the command inside.
    Wheel,
    /// Install the Python package in an environment of its own, and test it there.
    Python,
    /// The same with PyTorch, which it installs: operators beside PyTorch's own, and the examples of operators.
    Torch,
    /// The same with JAX.
    Jax,
    /// Fit peaks by the example in Rust, without a GPU and on what cudarc takes for one.
    Rust,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().task {
        Task::Setup => setup::setup(),
        Task::Tidy => tidy::tidy(),
        Task::Validate { filter, own: true, .. } => validate::validate_own(filter.as_deref()),
        Task::Validate { filter, full, .. } => validate::validate(filter.as_deref(), full),
        Task::Nvcc { filter } => validate::execute(filter.as_deref()),
        Task::Bless { filter } => bless(filter.as_deref()),
        Task::Mutate => mutate(),
        Task::Random { count, seed, alone: true, wrong } => {
            random(&["__random", "--alone"], count, seed, wrong.as_deref())
        }
        Task::Random { count, seed, wrong, .. } => random(&["__random"], count, seed, wrong.as_deref()),
        Task::Programs { count, seed, wrong } => random(&["__programs"], count, seed, wrong.as_deref()),
        Task::Faults { filter, seed } => faults::faults(filter.as_deref(), seed),
        Task::Mutants(draw) => mutants::mutants(&draw),
        Task::Corpus { list, programs } => corpus::corpus(&list, &programs),
        Task::Docs => write("cotangent-driver", &["--test", "main"], &["manual::"], None),
        Task::Kernels => kernels::kernels(),
        Task::Bench => bench(),
        Task::Budget(options) => budget::measure(&options),
        Task::Race(options) => race::race(&options),
        Task::Wheel => python::wheel(Profile::Released).map(|_| ()),
        Task::Python => python::python(),
        Task::Torch => python::torch(),
        Task::Jax => python::jax(),
        Task::Rust => rust::rust(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Texts of passes that are not public are written by the compiler's own tests, a folder a test; the others are a test each.
fn bless(filter: Option<&str>) -> Result<()> {
    write("cotangent", &["--lib"], &["transform::texts"], filter)?;
    let tests = [("cotangent", "texts"), ("cotangent-cli", "fixtures"), ("cotangent-cli", "grad")];
    tests.into_iter().try_for_each(|(package, test)| write_with_test(package, test, filter))
}

fn write_with_test(package: &str, test: &str, filter: Option<&str>) -> Result<()> {
    write(package, &["--test", test], filter.as_slice(), filter)
}

/// The tests that compare with committed files write them instead when they find this variable: those whose name contains
/// the other one.
fn write(package: &str, target: &[&str], tests: &[&str], filter: Option<&str>) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(workspace::root()).env("COTANGENT_BLESS", "1");
    command.env("COTANGENT_BLESS_ONLY", filter.unwrap_or_default());
    command.args(["test", "--package", package]).args(target).arg("--").args(tests);
    let status = command.status()?;
    ensure!(status.success(), "the test `{}` failed while writing; see above", target.concat());
    Ok(())
}

/// The tests of bad input, with as many cases as we promise. That of the IR's text form always runs them all.
fn mutate() -> Result<()> {
    let cases = [("cotangent", ["--lib", "mutated_texts"]), ("cotangent-driver", ["--test", "mutated"])];
    for (package, selection) in cases {
        let mut command = Command::new(env!("CARGO"));
        command.current_dir(workspace::root()).env("COTANGENT_MUTATIONS", "10000");
        command.args(["test", "--release", "--package", package]).args(selection).args(["--", "--nocapture"]);
        let status = command.status()?;
        ensure!(status.success(), "bad input of `{package}` was not refused; see above");
    }
    Ok(())
}

/// The hidden half of the command that makes and checks kernels or programs, optimised.
fn random(what: &[&str], count: u64, seed: u64, wrong: Option<&str>) -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(workspace::root()).args(["run", "--release", "--package", "cotangent-cli", "--"]);
    command.args(what).args(["--seeds", &format!("{seed}..{}", seed + count)]);
    command.args(wrong.iter().flat_map(|folder| ["--wrong", folder]));
    let status = command.status()?;
    ensure!(status.success(), "a derivative is wrong, or too many are refused; see above");
    Ok(())
}

/// The benchmark is an example of the command's package, because it needs all that the command does, optimised.
fn bench() -> Result<()> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(workspace::root());
    let status = command.args(["run", "--release", "--package", "cotangent-cli", "--example", "bench"]).status()?;
    ensure!(status.success(), "a figure was missed, or could not be measured; see above");
    Ok(())
}
