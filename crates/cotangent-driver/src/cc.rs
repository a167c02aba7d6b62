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

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::environment::Environment;
use crate::error::DriverError;
use crate::flags;
use crate::headers::Headers;
use crate::program::{Failure, Input};
use crate::requests::answered;
use crate::tools::Tools;

use copies::Copies;
use line::Line;

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
}

/// Reads a command line, the compiler first, and answers the requests in its inputs.
pub fn plan(environment: &Environment, words: &[impl AsRef<OsStr>], colour: bool) -> Result<Plan, Failure> {
    let words: Vec<String> = words.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
    // Nothing of this is needed, or may fail, for a line that does not use Cotangent.
    plan_with(environment, &words, |file, words| {
        let tools = Tools::find(environment.clone())?;
        let flags = flags::read(words).map_err(DriverError::from)?;
        answered(&tools, &Input { file, flags: &flags, cuda_path: None, colour })
    })
}

/// As [`plan`]; `answer` gets an input that may have requests, and the flags to read it with.
fn plan_with(
    environment: &Environment,
    words: &[String],
    answer: impl Fn(&Path, &[String]) -> Result<Option<String>, Failure>,
) -> Result<Plan, Failure> {
    let line = Line::read(environment, words);
    let mut copies = Copies::new()?;
    for at in line.inputs.iter().copied().filter(|at| line.mentions_cotangent(*at)) {
        let file = line.path(at);
        if let Some(text) = answer(&file, &line.flags_for_reading())? {
            copies.write(at, file, &text)?;
        }
    }
    if copies.all.is_empty() {
        return Ok(Plan::Untouched);
    }
    let folder = copies.folder(&line)?;
    let headers = Headers::materialise(environment)?;
    Ok(Plan::Changed(Box::new(Changed {
        words: line.changed(&copies, &folder, headers.root()),
        copies,
        dependencies: line.dependency_files(),
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
        let mut child = command.spawn().map_err(DriverError::spawn(&compiler))?;
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
