//! The compiler as a library.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cotangent_driver::derivative::{Extent, Mode, print_derivative};
use cotangent_driver::device_code::{self, DeviceCode};
use cotangent_driver::flags::{self, ParseFlags};
use cotangent_driver::own_files::own_files;
use cotangent_driver::program::{Form, Input, print};
use cotangent_driver::{Environment, Tools};
use tempfile::TempDir;

use crate::error::Error;
use crate::gradient::Gradient;

pub use cotangent::emit::Metadata;

/// A CUDA program: a file, or a text. Nothing is read before something is asked of it.
///
/// ```
/// use cotangent_build::{Gradient, Program};
///
/// let program = Program::from_text("__device__ float cube(float x) { return x * x * x; }");
/// let derivative = program.gradient(&Gradient::of("cube"))?;
/// assert!(derivative.text.contains("cube_grad"));
/// # Ok::<(), cotangent_build::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Program {
    file: PathBuf,
    flags: Vec<String>,
    /// Where a text lies.
    folder: Option<Arc<TempDir>>,
}

/// A derivative as text.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Derivative {
    /// What a compiler takes.
    pub text: String,
    /// What you should know about it, as shown; empty if there is nothing.
    pub notes: String,
    /// What who calls it must know: the functions, their parameters, what adjoints hold before, how large a record is.
    pub metadata: Option<Metadata>,
}

impl Program {
    /// The program in a file.
    pub fn in_file(file: impl Into<PathBuf>) -> Program {
        Program { file: file.into(), flags: Vec::new(), folder: None }
    }

    /// The program of which this is the text. Messages call it `program.cu`.
    ///
    /// # Panics
    /// There is no room for a file in the folder of temporary files.
    pub fn from_text(text: &str) -> Program {
        let folder = TempDir::new().expect("the folder of temporary files takes a folder");
        let file = folder.path().join("program.cu");
        fs::write(&file, text).expect("the folder of temporary files takes a file");
        Program { file, flags: Vec::new(), folder: Some(Arc::new(folder)) }
    }

    /// The same program, compiled with these flags besides those that it has. They are the compiler's: `-I`, `-D`, `-std`.
    #[must_use]
    pub fn flags<S: Into<String>>(mut self, flags: impl IntoIterator<Item = S>) -> Program {
        self.flags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// The derivative of a function, as CUDA.
    ///
    /// # Errors
    /// [`Error::Refused`] if it would not be right, with what to do; others if something cannot be read, found or understood.
    pub fn gradient(&self, gradient: &Gradient) -> Result<Derivative, Error> {
        self.derivative(gradient, Mode::Reverse)
    }

    /// The forward derivative of a function: its pushforward.
    ///
    /// # Errors
    /// As of [`Program::gradient`].
    pub fn pushforward(&self, gradient: &Gradient) -> Result<Derivative, Error> {
        self.derivative(gradient, Mode::Forward)
    }

    /// A function as the compiler sees it, with all that it needs, as CUDA.
    ///
    /// # Errors
    /// As of [`Program::gradient`].
    pub fn function(&self, name: &str) -> Result<String, Error> {
        self.with(|tools, input| print(tools, input, name, Form::Cuda, None).map_err(Error::from))
    }

    fn derivative(&self, gradient: &Gradient, mode: Mode) -> Result<Derivative, Error> {
        let wanted = gradient.wanted()?;
        let made = self.with(|tools, input| {
            print_derivative(tools, input, &wanted, mode, Extent::Standalone, None).map_err(Error::from)
        })?;
        Ok(Derivative { text: self.as_named(made.text), notes: self.as_named(made.notes), metadata: made.metadata })
    }

    /// A kernel for GPUs and for the CPU.
    pub(crate) fn kernel(&self, name: &str) -> Result<DeviceCode, Error> {
        self.with(|tools, input| device_code::function(tools, input, name).map_err(Error::from))
    }

    /// The gradient of a kernel for both, in the form of frameworks.
    pub(crate) fn kernel_gradient(&self, gradient: &Gradient) -> Result<DeviceCode, Error> {
        let pure = gradient.clone().pure();
        let wanted = pure.wanted()?;
        self.with(|tools, input| device_code::gradient(tools, input, &wanted).map_err(Error::from))
    }

    /// The file, as the program's texts name it.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// The files that make up the program, but for headers of libraries.
    pub(crate) fn own_files(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(own_files(&self.file, &self.read_flags()?).into_iter().map(|(path, _)| path).collect())
    }

    fn read_flags(&self) -> Result<ParseFlags, Error> {
        Ok(flags::read(&self.flags)?)
    }

    fn with<T>(&self, ask: impl FnOnce(&Tools, &Input<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let flags = self.read_flags()?;
        let tools = Tools::find(Environment::of_process())?;
        let input = Input { file: &self.file, flags: &flags, cuda_path: None, colour: false };
        ask(&tools, &input).map_err(|error| match error {
            Error::Refused { findings, shown } => {
                let findings = findings.into_iter().map(|mut finding| {
                    finding.file = finding.file.map(|file| self.as_named(file));
                    finding
                });
                Error::Refused { findings: findings.collect(), shown: self.as_named(shown) }
            }
            Error::Rejected(message) => Error::Rejected(self.as_named(message)),
            other => other,
        })
    }

    /// What speaks of the file of a text names it without its folder.
    fn as_named(&self, words: String) -> String {
        match &self.folder {
            Some(folder) => words.replace(&format!("{}/", folder.path().display()), ""),
            None => words,
        }
    }
}
