//! `cotangent build`: a program for the CPU that stays, and what `run` makes of several files. Each file is read and compiled
//! by itself, as other compilers do.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cotangent_driver::compile::{CpuRequest, Product, compile_together};
use cotangent_driver::flags::ParseFlags;
use cotangent_driver::program::{self, CpuProgram, Input};
use cotangent_driver::{Environment, Tools};

use crate::arguments::Build;
use crate::linked::library;
use crate::reading;
use crate::terminal::Terminal;

/// The files of a program, each with its flags.
pub(crate) struct Parts<'a> {
    pub(crate) files: &'a [(PathBuf, ParseFlags)],
    pub(crate) cuda_path: Option<&'a Path>,
    pub(crate) check: bool,
}

impl Parts<'_> {
    /// Reads, compiles and links.
    pub(crate) fn make(&self, tools: &Tools, product: Product<'_>, output: &Path, terminal: &Terminal) -> Result<()> {
        let colour = terminal.colour;
        let mut programs: Vec<CpuProgram> = Vec::new();
        for (file, flags) in self.files {
            let input = Input { file, flags, cuda_path: self.cuda_path, colour };
            let program = terminal.step(&format!("Reading {}", file.display()), || program::direct(tools, &input))?;
            terminal.rendered(&program.rendered);
            program.notes.iter().for_each(|note| terminal.note(note));
            programs.push(program);
        }
        let requests = programs.iter().zip(self.files).map(|(program, (_, flags))| CpuRequest {
            units: &program.units,
            texts: &program.texts,
            flags,
            check: self.check,
            colour,
            output,
        });
        let requests: Vec<CpuRequest<'_>> = requests.collect();
        let name = self.files.first().map(|(file, _)| file.display().to_string()).unwrap_or_default();
        terminal.step(&format!("Compiling {name} for the CPU"), || compile_together(tools, &requests, product))?;
        Ok(())
    }
}

pub(crate) fn build(options: &Build, terminal: &Terminal) -> Result<u8> {
    let environment = Environment::of_process();
    let mut files = reading::each(&options.reading, &options.file, &options.others, terminal)?;
    files.iter_mut().for_each(|(_, flags)| flags.cpu_args.push("-g".to_owned()));
    let library = library(&environment)?;
    let tools = Tools::find(environment)?;
    let product = if options.shared { Product::Library(&library) } else { Product::Executable(&library) };
    let parts = Parts { files: &files, cuda_path: options.reading.cuda_path.as_deref(), check: false };
    // A program that is half written is not left in the place of one that works.
    let folder = options.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let scratch = tempfile::tempdir_in(folder).with_context(|| format!("cannot write in {}", folder.display()))?;
    let made = scratch.path().join("program");
    parts.make(&tools, product, &made, terminal)?;
    std::fs::rename(&made, &options.output).with_context(|| format!("cannot write {}", options.output.display()))?;
    Ok(0)
}
