//! `cotangent run --nvcc`: nvcc compiles and links the program, against a CUDA runtime that executes its PTX on the CPU.
//! What runs is what would run on a GPU, but for the last step, ptxas. With `--gpu` it is linked against NVIDIA's own, and
//! runs there.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use cotangent_driver::Environment;
use cotangent_driver::cudart::{self, LinkRequest, Linked, Runtime};

use crate::arguments::Run;
use crate::exec::Configuration;
use crate::exit;
use crate::run::exit_code;
use crate::terminal::Terminal;

pub(crate) fn run(options: &Run, terminal: &Terminal) -> Result<u8> {
    let environment = Environment::of_process();
    let folder = tempfile::tempdir().context("cannot make a folder for the program")?;
    match ending(options, terminal, &environment, folder.path())? {
        Some(status) => Ok(exit_code(status, options.check, terminal)),
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
    let request = LinkRequest {
        runtime: library.as_deref().map_or(Runtime::OfGpu, Runtime::OfCpu),
        file: &options.file,
        flags: &options.reading.flags,
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

/// Waits until no other program of this command's is on the GPU, and keeps others away until the result is dropped: each
/// needs hundreds of megabytes there, and some machines let in one process at a time.
pub(crate) fn turn_on_gpu() -> Result<File> {
    let environment = Environment::of_process();
    let cache = environment.cache()?;
    std::fs::create_dir_all(cache).with_context(|| format!("cannot make {}", cache.display()))?;
    let path = cache.join("gpu.lock");
    cotangent_driver::turn(&path).with_context(|| format!("cannot lock {}", path.display()))
}

/// The folder of the CUDA runtime that is installed beside this command.
pub(crate) fn library(environment: &Environment) -> Result<PathBuf> {
    let this_command = std::env::current_exe().context("cannot find this command's own file")?;
    Ok(cudart::folder(environment, &this_command)?)
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

/// Has a program that nvcc linked run with the library in this folder, which takes its configuration from the environment.
pub(crate) fn configure(command: &mut Command, library: &Path, configuration: &Configuration) {
    command
        .env("LD_LIBRARY_PATH", search_path(library))
        .env("COTANGENT_CUDART_SEED", configuration.seed.to_string())
        .env("COTANGENT_CUDART_THREADS", configuration.threads.to_string())
        .env("COTANGENT_CUDART_CHECK", u8::from(configuration.check).to_string());
}

/// The folder before all others that libraries are looked for in.
fn search_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}
