//! What can go wrong outside the user's program: a tool that is missing or of the wrong version, a file that
//! cannot be read, a flag that we do not take, a compiler that rejects the text. Every message says what to do.

use std::io;
use std::path::{Path, PathBuf};

use crate::flags::{Arch, FlagError};

/// A failure of the driver. Diagnostics about the user's program are not errors of this kind; the one exception is
/// text that Clang itself rejects, whose message is Clang's own ([`DriverError::Rejected`]).
#[derive(Debug, thiserror::Error)]
pub enum DriverError {
    #[error("no Clang was found\n  Cotangent reads CUDA with Clang 19. Install it: {}", crate::tools::INSTALL_CLANG)]
    ClangMissing,

    #[error(
        "{path} is {found}, and Cotangent reads CUDA with Clang 19\n  The form in which Clang prints a program differs between versions, so another one cannot be read.\n  Install it beside the one you have: {}\n  or name one: COTANGENT_CLANG=/path/to/clang++-19",
        crate::tools::INSTALL_CLANG
    )]
    ClangVersion { path: PathBuf, found: String },

    #[error("nvcc was not found\n  {}", crate::tools::INSTALL_NVCC)]
    NvccMissing,

    #[error(
        "the CUDA runtime that executes PTX, libcotangent_cudart.so, is not beside {command}\n  Build it: cargo build -p cotangent-cudart   (as the command itself was built), and leave it in the same folder"
    )]
    CudartMissing { command: PathBuf },

    #[error(
        "the tape library, libcotangent_tape.so, is not beside {command}\n  Build it: cargo build -p cotangent-tape   (as the command itself was built), and leave it in the same folder"
    )]
    TapeMissing { command: PathBuf },

    #[error(
        "{path} is not a CUDA toolkit: {missing} is missing\n  --cuda-path wants the folder that holds include/cuda_runtime.h, for instance /usr/local/cuda-12.4"
    )]
    NotAToolkit { path: PathBuf, missing: &'static str },

    #[error(
        "the headers in {path} are of CUDA {version}, and Clang 19 cannot read CUDA 13 or newer\n  Leave out --cuda-path to parse with Cotangent's own headers, or name a toolkit of CUDA 12."
    )]
    ToolkitTooNew { path: PathBuf, version: String },

    #[error("the home folder is unknown, so there is no place for the cache\n  Name one: COTANGENT_CACHE=/some/folder")]
    NoCacheFolder,

    #[error(
        "the output {path} is {}, which this command reads\n  Nothing was written. Name another file after -o.",
        if path == input { "the input".to_owned() } else { format!("the input {}", input.display()) }
    )]
    OutputIsInput { path: PathBuf, input: PathBuf },

    #[error(
        "the output {path} is a file that the input includes\n  Nothing was written. Name another file after -o; if it is an earlier derivative, leave its #include to a file that this one does not include."
    )]
    OutputIsIncluded { path: PathBuf },

    #[error("the output {path} is a folder\n  Name a file in it: -o {}", path.join("gradient.cuh").display())]
    OutputIsFolder { path: PathBuf },

    #[error(
        "{path} is not UTF-8 (line {line}), and it asks for derivatives, which are compiled in a copy of it\n  Convert it: iconv -f LATIN1 -t UTF-8 {path}   (or from the encoding it is in)"
    )]
    NotUtf8 { path: PathBuf, line: usize },

    #[error("cannot {doing} {path}: {reason}")]
    File { doing: &'static str, path: PathBuf, reason: io::Error },

    #[error("cannot run {tool}: {reason}")]
    Spawn { tool: PathBuf, reason: io::Error },

    /// A compiler read the user's text and rejected it; `message` is what it wrote, places and colours included.
    #[error("{message}")]
    Rejected { message: String },

    /// A tool stopped without saying what is wrong with the user's text.
    #[error("{tool} failed ({status})\n{message}")]
    ToolFailed { tool: PathBuf, status: String, message: String },

    #[error(
        "one command compiles CUDA files of several folders, and one of them asks for gradients\n  Their headers could be mixed up. Compile each file by a command of its own, with -c."
    )]
    InputsInSeveralFolders,

    #[error(
        "{path} is no compilation database: {reason}\n  Build systems write one: cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON …"
    )]
    Database { path: PathBuf, reason: String },

    #[error(
        "{file} is not in {path}\n  Name a file that the build compiles, or leave out --database and give the flags after --."
    )]
    NotInDatabase { file: PathBuf, path: PathBuf },

    #[error(
        "{other} is compiled with other flags than {first}, and both are read as one program\n  Leave this file out, or leave out --database and give flags after -- that fit all."
    )]
    OtherFlags { other: PathBuf, first: PathBuf },

    #[error(
        "{file} is another program for {other} than for {first}, and its derivatives with it\n  Compile for one architecture at a time, or keep __CUDA_ARCH__ out of what is differentiated."
    )]
    ArchitecturesDiffer { file: PathBuf, first: Arch, other: Arch },

    #[error(
        "`{flag}` does not say for which architectures, and the program depends on it (__CUDA_ARCH__)\n  Name them: -gencode arch=compute_80,code=sm_80 …"
    )]
    ArchitectureUnknown { flag: String },

    #[error(transparent)]
    Flag(#[from] FlagError),
}

/// Whose turn it is after a failure; the command's exit code follows from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The program that was given.
    Program,
    /// The words of the command line.
    Usage,
    /// The machine: something is not installed, not readable or broken.
    Environment,
}

impl DriverError {
    /// Whose turn it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Rejected { .. } | Self::ArchitecturesDiffer { .. } | Self::NotUtf8 { .. } => Blame::Program,
            Self::Flag(_)
            | Self::NotAToolkit { .. }
            | Self::ToolkitTooNew { .. }
            | Self::InputsInSeveralFolders
            | Self::Database { .. }
            | Self::NotInDatabase { .. }
            | Self::OtherFlags { .. }
            | Self::OutputIsInput { .. }
            | Self::OutputIsIncluded { .. }
            | Self::OutputIsFolder { .. }
            | Self::ArchitectureUnknown { .. } => Blame::Usage,
            Self::ClangMissing
            | Self::ClangVersion { .. }
            | Self::NvccMissing
            | Self::CudartMissing { .. }
            | Self::TapeMissing { .. }
            | Self::NoCacheFolder
            | Self::File { .. }
            | Self::Spawn { .. }
            | Self::ToolFailed { .. } => Blame::Environment,
        }
    }

    /// For `map_err` on file operations: what was done, and to which path.
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |reason| Self::File { doing, path, reason }
    }

    /// For `map_err` on starting a process.
    pub(crate) fn spawn(tool: &Path) -> impl FnOnce(io::Error) -> Self {
        let tool = tool.to_path_buf();
        move |reason| Self::Spawn { tool, reason }
    }
}
