//! `cotangent run`: compiles a CUDA program for the CPU and runs it in a child process, which is this same command
//! under its hidden name (see `exec`). A child, because the program may crash, exit or be killed as it likes.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use cotangent_driver::compile::{CpuRequest, Product, compile};
use cotangent_driver::program::{self, Input};
use cotangent_driver::{Environment, Tools};

use crate::arguments::Run;
use crate::build::Parts;
use crate::exec;
use crate::exit;
use crate::reading;
use crate::run_nvcc;
use crate::terminal::Terminal;

pub(crate) fn run(options: &Run, terminal: &Terminal) -> Result<u8> {
    if options.nvcc || options.gpu {
        return run_nvcc::run(options, terminal);
    }
    let tools = Tools::find(Environment::of_process())?;
    let folder = tempfile::tempdir().context("cannot make a folder for the program")?;
    let shared_object = folder.path().join("program.so");
    build(options, &tools, &shared_object, terminal)?;

    let this_command = std::env::current_exe().context("cannot find this command's own file")?;
    let configuration = exec::Configuration { check: options.check, seed: options.seed, threads: options.threads };
    let status = Command::new(&this_command)
        .arg(exec::NAME)
        .args(configuration.to_words())
        .arg(&shared_object)
        .arg(options.file.with_extension(""))
        .args(&options.args)
        .status()
        .with_context(|| format!("cannot run {}", this_command.display()))?;
    Ok(exit::code_of_program(status, options.check, terminal))
}

fn build(options: &Run, tools: &Tools, shared_object: &Path, terminal: &Terminal) -> Result<()> {
    let cuda_path = options.reading.cuda_path.as_deref();
    if !options.printed {
        let files = reading::each(&options.reading, &options.file, &options.others, terminal)?;
        let parts = Parts { files: &files, cuda_path, check: options.check };
        return parts.make(tools, Product::Loaded, shared_object, terminal);
    }
    let flags = &reading::alone(&options.reading, &options.file, terminal)?;
    let input = Input { file: &options.file, flags, cuda_path, colour: terminal.colour };
    let name = options.file.display();
    let program = terminal.step(&format!("Reading {name}"), || program::printed(tools, &input))?;
    terminal.rendered(&program.rendered);
    program.notes.iter().for_each(|note| terminal.note(note));
    let request = CpuRequest {
        units: &program.units,
        texts: &program.texts,
        flags,
        check: options.check,
        colour: terminal.colour,
        output: shared_object,
    };
    terminal.step(&format!("Compiling {name} for the CPU"), || compile(tools, &request))?;
    Ok(())
}
