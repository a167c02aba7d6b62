//! From the user's file to what a command wants of it: parses with Clang, hands the dumps to the compiler crate, and
//! brings back text or rendered diagnostics.

use std::fs;
use std::path::Path;

use cotangent::clang::{self, Ast, ReadError, STACK_BYTES, Sieve, is_not_system};

use crate::compile::Overlay;
use crate::error::{Blame, DriverError};
use crate::flags::ParseFlags;
use crate::parse::{ParseRequest, Pass, dump};
use crate::tools::Tools;

/// The user's program and how to read it.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    pub file: &'a Path,
    pub flags: &'a ParseFlags,
    /// A toolkit whose own headers are read instead of ours.
    pub cuda_path: Option<&'a Path>,
    /// Whether messages are in colour.
    pub colour: bool,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Cuda,
    Cpu,
    /// The text form of the IR.
    Ir,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Clang's dump was not what we can read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Diagnostics about the user's program, rendered.
    #[error("{0}")]
    Diagnostics(String),
}

impl Failure {
    /// Whose turn it is.
    pub fn blame(&self) -> Blame {
        match self {
            Self::Driver(error) => error.blame(),
            Self::Diagnostics(_) | Self::Read(ReadError::TooDeep) => Blame::Program,
            Self::Read(ReadError::Json(_) | ReadError::Thread(_)) => Blame::Environment,
        }
    }
}

/// A program as both of CUDA's passes see it, with the texts of its files.
pub struct Passes {
    pub host: Ast,
    pub device: Ast,
}

/// Has Clang parse both passes, side by side, and reads its dumps.
///
/// The trees are walked and dropped by recursion: call it, and use what it returns, inside [`with_deep_stack`].
pub fn read(tools: &Tools, input: &Input<'_>) -> Result<Passes, Failure> {
    let (host, device) = std::thread::scope(|scope| {
        let device = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || read_pass(tools, input, Pass::Device))
            .map_err(ReadError::Thread);
        let host = read_pass(tools, input, Pass::Host);
        (host, device.map(|thread| thread.join()))
    });
    let host = host?;
    match device? {
        Ok(device) => Ok(Passes { host, device: device? }),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Runs on a stack that is deep enough for the trees of the largest programs that we accept.
pub fn with_deep_stack<T: Send>(work: impl FnOnce() -> Result<T, Failure> + Send) -> Result<T, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        match thread.map_err(ReadError::Thread)?.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The function `name` and all it needs.
pub fn print(tools: &Tools, input: &Input<'_>, name: &str, form: Form) -> Result<String, Failure> {
    check_readable(input.file)?;
    with_deep_stack(|| {
        let _passes = read(tools, input)?;
        // CONNECT: `lower::lower` with the root `name`, then `emit::emit` or the IR's text form.
        Err(Failure::Diagnostics(format!("error: printing `{name}` as {form:?} is not connected yet")))
    })
}

/// The texts to compile for the CPU on the direct path: the user's own, with launches and dynamic shared memory
/// edited at their offsets.
pub fn direct(_tools: &Tools, input: &Input<'_>) -> Result<Vec<Overlay>, Failure> {
    let text = fs::read_to_string(input.file).map_err(DriverError::file("read", input.file))?;
    // CONNECT: `read`, then `cotangent::direct::edit`. Until then the text is compiled as it is.
    Ok(vec![Overlay { path: input.file.to_path_buf(), text }])
}

/// The texts to compile for the CPU on the printed path: what the printer writes for the whole program.
pub fn printed(tools: &Tools, input: &Input<'_>) -> Result<Vec<Overlay>, Failure> {
    let text = print(tools, input, "main", Form::Cpu)?;
    Ok(vec![Overlay { path: input.file.to_path_buf(), text }])
}

fn read_pass(tools: &Tools, input: &Input<'_>, pass: Pass) -> Result<Ast, Failure> {
    let Input { file, flags, cuda_path, colour } = *input;
    let request = ParseRequest { file, pass, flags, cuda_path, colour };
    let mut sieve = Sieve::new(is_not_system);
    dump(tools, &request, &mut |piece| sieve.push(piece))?;
    let mut ast = clang::read(&sieve.finish())?;
    for source in ast.sources.files.iter_mut() {
        // A name that is no file, such as `<built-in>`, stays without text.
        source.text = fs::read_to_string(&*source.name).ok().map(Into::into);
    }
    Ok(ast)
}

/// A better message than Clang's, and before Clang is started.
fn check_readable(file: &Path) -> Result<(), DriverError> {
    fs::File::open(file).map(drop).map_err(DriverError::file("read", file))
}
