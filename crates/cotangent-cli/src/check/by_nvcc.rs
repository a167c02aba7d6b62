//! The checked program as nvcc compiles it: the user's own text unedited, derivatives as CUDA, the same harness. It runs
//! on a GPU, or its PTX is executed on the CPU.

use std::path::Path;

use anyhow::{Context, Result};
use cotangent::emit::Dialect;
use cotangent_driver::cudart::{self, LinkRequest, Runtime};
use cotangent_driver::{DriverError, Environment};

use super::layout::Precision;
use super::program::{Made, OTHER_MAIN, Program, Texts};
use crate::arguments::Target;
use crate::linked;

/// Products and sums are not contracted, as on the CPU, so that numbers can be compared closely.
const NO_CONTRACTION: &str = "-fmad=false";

/// What the harness asks for: a GPU's free memory is not this process's alone.
const ON_GPU: &str = "-DCOTANGENT_CHECK_ON_GPU";

/// How long a program may take on a GPU, in seconds; none is meant to take one.
const LONGEST_ON_GPU: &str = "60";

/// Compiles the texts with nvcc, in the precision that they have. `words` are the user's flags.
pub(crate) fn build(texts: &Texts<'_>, words: &[String], folder: &Path, target: Target) -> Result<Program> {
    let environment = Environment::of_process();
    let library = match target {
        Target::Cpu => Some(linked::library(&environment)?),
        Target::Gpu => None,
    };
    let folder = folder.join("nvcc");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let own = match texts.own {
        Some(text) => text.to_owned(),
        None => std::fs::read_to_string(texts.file).with_context(|| format!("cannot read {}", texts.file.display()))?,
    };
    let path = std::path::absolute(texts.file).context("cannot find the file's folder")?;
    let text = format!("#line 1 \"{}\"\n{own}\n{}", path.display(), texts.appended(Precision::Native, Dialect::Cuda));
    let file = folder.join("program.cu");
    std::fs::write(&file, text).context("cannot write a text")?;
    let headers = cotangent_driver::headers::Headers::materialise(&environment)?;
    let mut flags = vec![
        NO_CONTRACTION.to_owned(),
        OTHER_MAIN.to_owned(),
        // `fmax(double, float)` is a function of the standard library.
        "--expt-relaxed-constexpr".to_owned(),
        // What the user's text leaves unused, and what the harness does.
        "-w".to_owned(),
        format!("-I{}", headers.root().display()),
    ];
    flags.extend(path.parent().map(|parent| format!("-I{}", parent.display())));
    flags.extend(words.iter().cloned());
    flags.extend(linked::tape_words());
    let program = folder.join("program");
    if target == Target::Gpu {
        flags.push(ON_GPU.to_owned());
    }
    let runtime = library.as_deref().map_or(Runtime::OfGpu, Runtime::OfCpu);
    // The host's code is the harness, which need not be checked.
    let request =
        LinkRequest { runtime, file: &file, others: &[], flags: &flags, check: false, output: &program, colour: false };
    let linked = cudart::link(&environment, &request)?;
    if !linked.status.success() {
        let message = String::from("nvcc does not compile the derivative");
        return Err(DriverError::Rejected { message }.into());
    }
    Ok(Program {
        function: 0,
        made: Made::ByNvcc(program, library),
        folder,
        precision: Precision::Native,
        seconds: (target == Target::Gpu).then_some(LONGEST_ON_GPU),
        own_error: None,
    })
}
