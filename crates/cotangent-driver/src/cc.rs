//! A compiler's command line as build systems write it, with the files in it that ask for gradients answered.
//!
//! The line stays as it is unless an input includes Cotangent's header. Then a copy of that input, with its requests
//! answered, is compiled in its place. nvcc has no way to lay one file over another, so the copy lies in a folder of its own, under
//! the input's name (which nvcc makes names of outputs from): `#line` directives give messages and debuggers the user's
//! names, `-iquote` finds the headers beside the user's file, and dependency files are corrected afterwards.

mod copies;
mod line;
mod mentions;
mod names;

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::derivative::Printed;
use crate::environment::Environment;
use crate::error::DriverError;
use crate::flags::{self, ParseFlags};
use crate::headers::Headers;
use crate::output::Output;
use crate::process::ends_with_us;
use crate::reading::{Failure, Input};
use crate::requests::answered;
use crate::tools::{Tools, find_nvcc};

use copies::Copies;
use line::Line;
pub(crate) use line::split_words;
use mentions::{ARCHITECTURE, HEADER};

/// What to do with a command line.
pub enum Plan {
    /// Nothing in it asks for a gradient: run it as it is.
    Untouched,
    /// Run this instead.
    Changed(Box<Changed>),
}

/// A command line in which copies have taken the place of inputs.
pub struct Changed {
    words: Vec<String>,
    copies: Copies,
    /// Files in which the compiler may name the copies as dependencies.
    dependencies: Vec<PathBuf>,
    /// What the user should know about the derivatives, as shown.
    pub notes: String,
}

/// A command line in which a plain `nvcc` that is not on `PATH` is the one that [`find_nvcc`] finds, also after another
/// launcher such as ccache.
pub fn with_compiler(environment: &Environment, words: &[OsString]) -> Result<Vec<OsString>, DriverError> {
    let mut words = words.to_vec();
    let leading = words.iter().take_while(|word| !word.as_encoded_bytes().starts_with(b"-")).count();
    let plain = words[..leading].iter().position(|word| word == "nvcc");
    if let Some(at) = plain.filter(|_| environment.find_in_path("nvcc").is_none()) {
        words[at] = find_nvcc(environment).ok_or(DriverError::NvccMissing)?.path.into();
    }
    Ok(words)
}

/// Reads a command line, the compiler first, and answers the requests in its inputs.
pub fn plan(environment: &Environment, words: &[impl AsRef<OsStr>], colour: bool) -> Result<Plan, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    plan_with(environment, &words, |line, file| {
        // None of this is needed, or may fail, for a line that does not use Cotangent.
        let tools = Tools::find(environment.clone())?;
        let flags = flags::read(&line.flags_for_reading()).map_err(DriverError::from)?;
        answer(&tools, line, &Input { file, flags: &flags, cuda_path: None, colour })
    })
}

/// The answered text. One text serves all architectures, so all must read the same program.
fn answer(tools: &Tools, line: &Line, input: &Input<'_>) -> Result<Option<Printed>, Failure> {
    let text = answered(tools, input)?;
    if text.is_none() || !line.mentions(input.file, ARCHITECTURE) {
        return Ok(text);
    }
    if let Some(flag) = input.flags.unknown_arch() {
        return Err(DriverError::ArchitectureUnknown { flag: flag.to_owned() }.into());
    }
    for arch in input.flags.archs.iter().skip(1) {
        let flags = ParseFlags { archs: vec![*arch], ..input.flags.clone() };
        if answered(tools, &Input { flags: &flags, ..input.clone() })? != text {
            let file = input.file.to_path_buf();
            return Err(DriverError::ArchitecturesDiffer { file, first: input.flags.arch(), other: *arch }.into());
        }
    }
    Ok(text)
}

/// The flags of a command line, which runs in a folder, by which its inputs are read.
pub(crate) fn flags_for_reading(environment: &Environment, words: &[String], folder: &Path) -> Vec<String> {
    Line::read_in(environment, words, folder).flags_for_reading()
}

/// As [`plan`]; `answer` gets the inputs that may have requests.
fn plan_with(
    environment: &Environment,
    words: &[String],
    answer: impl Fn(&Line, &Path) -> Result<Option<Printed>, Failure>,
) -> Result<Plan, Failure> {
    let line = Line::read(environment, words);
    let (mut copies, mut notes) = (Copies::new()?, String::new());
    for at in &line.inputs {
        let file = line.path(*at);
        let answered = if line.mentions(&file, HEADER) { answer(&line, &file)? } else { None };
        if let Some(answered) = answered {
            copies.write(*at, file, &answered.text)?;
            notes += &answered.notes;
        }
    }
    if copies.all.is_empty() {
        return Ok(Plan::Untouched);
    }
    // The compiler would only see that its output is not the copy.
    let originals: Vec<PathBuf> = line.inputs.iter().map(|at| line.path(*at)).collect();
    let originals: Vec<&Path> = originals.iter().map(PathBuf::as_path).collect();
    for output in line.named_outputs() {
        Output::apart_from(&output, &originals)?;
    }
    let folder = copies.folder(&line)?;
    let headers = Headers::materialise(environment)?;
    Ok(Plan::Changed(Box::new(Changed {
        words: line.changed(&copies, &folder, headers.root()),
        copies,
        dependencies: line.dependency_files(),
        notes,
    })))
}

impl Changed {
    /// Runs it to its end, with the process's own input and output.
    pub fn run(self) -> Result<ExitStatus, DriverError> {
        self.run_into(std::io::stdout(), std::io::stderr())
    }

    fn run_into(self, stdout: impl Write, stderr: impl Write + Send) -> Result<ExitStatus, DriverError> {
        let compiler = PathBuf::from(self.words.first().map_or("", String::as_str));
        let mut command = Command::new(&compiler);
        command.args(&self.words[1..]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = ends_with_us(&mut command).spawn().map_err(DriverError::spawn(&compiler))?;
        let output = child.stdout.take().expect("it is piped");
        let messages = child.stderr.take().expect("it is piped");
        std::thread::scope(|scope| {
            scope.spawn(|| names::relay(messages, stderr, &self.copies));
            names::relay(output, stdout, &self.copies);
        });
        let status = child.wait().map_err(DriverError::spawn(&compiler))?;
        for file in &self.dependencies {
            names::correct_file(file, &self.copies)?;
        }
        Ok(status)
    }
}

#[cfg(test)]
mod tests;
