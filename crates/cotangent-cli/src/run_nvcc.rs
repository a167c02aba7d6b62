//! `cotangent run --nvcc`: nvcc compiles and links the program, against a CUDA runtime that executes its PTX on the CPU.
//! What runs is what would run on a GPU, but for the last step, ptxas. With `--gpu` it is linked against NVIDIA's own, and
//! runs there.

use std::path::Path;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use cotangent_driver::Environment;
use cotangent_driver::cudart::{self, LinkRequest, Linked, Runtime};
use cotangent_driver::headers::Headers;

use crate::arguments::Run;
use crate::exec::Configuration;
use crate::exit;
use crate::linked::{configure, library, tape_words, turn_on_gpu};
use crate::terminal::Terminal;

pub(crate) fn run(options: &Run, terminal: &Terminal) -> Result<u8> {
    let environment = Environment::of_process();
    let folder = tempfile::tempdir().context("cannot make a folder for the program")?;
    match ending(options, terminal, &environment, folder.path())? {
        Some(status) => Ok(exit::code_of_program(status, options.check, terminal)),
        None => Ok(exit::PROGRAM),
    }
}

/// Compiles the program into a folder and runs it: how it ended, or none if nvcc does not compile it.
pub(crate) fn ending(
    options: &Run,
    terminal: &Terminal,
    environment: &Environment,
    folder: &Path,
) -> Result<Option<ExitStatus>> {
    let library = (!options.gpu).then(|| library(environment)).transpose()?;
    let program = folder.join("program");
    let headers = format!("-I{}", Headers::materialise(environment)?.root().display());
    let flags: Vec<String> = options.reading.flags.iter().cloned().chain([headers]).chain(tape_words()).collect();
    let request = LinkRequest {
        runtime: library.as_deref().map_or(Runtime::OfGpu, Runtime::OfCpu),
        file: &options.file,
        others: &options.others,
        flags: &flags,
        check: options.check,
        output: &program,
        colour: terminal.colour,
    };
    let step = format!("Compiling {} with nvcc", options.file.display());
    let Linked { status, notes } = terminal.step(&step, || cudart::link(environment, &request))?;
    terminal.rendered(&notes);
    if !status.success() {
        return Ok(None);
    }
    execute(options, library.as_deref(), &program).map(Some)
}

fn execute(options: &Run, library: Option<&Path>, program: &Path) -> Result<ExitStatus> {
    let mut command = Command::new(program);
    command.args(&options.args);
    let configuration = Configuration { check: options.check, seed: options.seed, threads: options.threads };
    let _turn = match library {
        Some(library) => {
            configure(&mut command, library, &configuration);
            None
        }
        None => Some(turn_on_gpu()?),
    };
    cotangent_driver::ends_with_us(&mut command).status().with_context(|| format!("cannot run {}", program.display()))
}
