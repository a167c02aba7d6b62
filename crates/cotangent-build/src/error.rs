//! Why there is no derivative, or no module of launches.

use std::env::VarError;
use std::io;
use std::path::PathBuf;

use cotangent_driver::flags::FlagError;
use cotangent_driver::program::Failure;
use cotangent_driver::{Blame, DriverError};

pub use cotangent::diagnostic::Located as Finding;

/// Why there is no derivative, or no module of launches. What is displayed says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be differentiated right. Shown with the lines that it is about; [`Error::findings`] has them as data.
    #[error("{shown}")]
    Refused {
        /// What was found, in the order of the program.
        findings: Vec<Finding>,
        /// The same as text, with carets.
        shown: String,
    },
    /// Clang or nvcc rejects the program, with their words.
    #[error("{0}")]
    Rejected(String),
    /// Options that make no sense, or name what does not exist.
    #[error("{0}")]
    Request(String),
    /// A parameter that has no type in Rust.
    #[error(
        "`{parameter}` of `{function}` is `{ty}`, which has no type in Rust here\n  Numbers do, CUDA's vectors, and structs of them without pointers; and pointers to each. Or launch this kernel by hand: `Program::gradient` has its text."
    )]
    Type {
        /// The kernel, or its gradient.
        function: String,
        /// The parameter.
        parameter: String,
        /// Its type, as CUDA spells it.
        ty: String,
    },
    /// A build script's environment is missing.
    #[error(
        "{variable} is not set: {reason}\n  `Kernels::write` is for build scripts, which cargo runs; `Kernels::write_to` names a folder."
    )]
    NoBuildScript {
        /// The variable that cargo sets.
        variable: &'static str,
        /// Why it cannot be used.
        reason: VarError,
    },
    /// A tool is missing, or something else of the machine's.
    #[error("{0}")]
    Machine(String),
    /// A file that cannot be read or written.
    #[error("cannot {doing} {}: {reason}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        reason: io::Error,
    },
}

impl Error {
    /// What was found in a program that is refused.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Error::Refused { findings, .. } => findings,
            Error::Rejected(_)
            | Error::Request(_)
            | Error::Type { .. }
            | Error::NoBuildScript { .. }
            | Error::Machine(_)
            | Error::File { .. } => &[],
        }
    }

    /// The code of the first of them: `C0206`.
    pub fn code(&self) -> Option<&'static str> {
        self.findings().first().map(|finding| finding.code)
    }

    /// Prints the error as cargo shows it, and ends the process. For `main` of a build script, whose panics are hard to read:
    /// `.write("kernels.rs").unwrap_or_else(|error| error.exit())`.
    pub fn exit(&self) -> ! {
        eprintln!("{self}");
        for line in self.to_string().lines() {
            println!("cargo::error={line}");
        }
        std::process::exit(1)
    }

    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Error {
        let path = path.into();
        move |reason| Error::File { doing, path, reason }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        match failure {
            Failure::Diagnostics(refusal) => {
                Error::Refused { findings: refusal.found, shown: refusal.text.trim_end().to_owned() }
            }
            Failure::Driver(DriverError::Rejected { message }) => Error::Rejected(message.trim_end().to_owned()),
            other @ (Failure::Driver(_) | Failure::Read(_)) => match other.blame() {
                Blame::Program => Error::Rejected(other.to_string()),
                Blame::Usage => Error::Request(other.to_string()),
                Blame::Environment => Error::Machine(other.to_string()),
            },
        }
    }
}

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Error {
        Error::from(Failure::from(error))
    }
}

impl From<FlagError> for Error {
    fn from(error: FlagError) -> Error {
        Error::from(DriverError::from(error))
    }
}
