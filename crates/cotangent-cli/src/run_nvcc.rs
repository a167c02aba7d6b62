//! `cotangent run --nvcc`: nvcc compiles and links the program, against a CUDA runtime that executes its PTX on the CPU.
//! What runs is what would run on a GPU, but for the last step, ptxas.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use cotangent_driver::Environment;
use cotangent_driver::cudart::{self, Linked};

use crate::arguments::Run;
use crate::exec::Configuration;
use crate::exit;
use crate::run::exit_code;
use crate::terminal::Terminal;

pub(crate) fn run(options: &Run, terminal: &Terminal) -> Result<u8> {
    let environment = Environment::of_process();
    let library = library(&environment)?;
    let folder = tempfile::tempdir().context("cannot make a folder for the program")?;
    let program = folder.path().join("program");
    let Linked { status, notes } = terminal.step(&format!("Compiling {} with nvcc", options.file.display()), || {
        cudart::link(&environment, &library, &options.file, &options.reading.flags, &program, terminal.colour)
    })?;
    terminal.rendered(&notes);
    if !status.success() {
        return Ok(exit::PROGRAM);
    }
    let status = execute(options, &library, &program)?;
    Ok(exit_code(status, options.check, terminal))
}

/// The folder of the CUDA runtime that is installed beside this command.
pub(crate) fn library(environment: &Environment) -> Result<PathBuf> {
    let this_command = std::env::current_exe().context("cannot find this command's own file")?;
    Ok(cudart::folder(environment, &this_command)?)
}

fn execute(options: &Run, library: &Path, program: &Path) -> Result<ExitStatus> {
    let mut command = Command::new(program);
    let configuration = Configuration { check: options.check, seed: options.seed, threads: options.threads };
    configure(command.args(&options.args), library, &configuration);
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
