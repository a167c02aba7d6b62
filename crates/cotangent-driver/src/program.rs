//! From the user's file to what a command wants of it: parses with Clang, hands the dumps to the compiler crate, and
//! brings back text or rendered diagnostics.

use std::fs;
use std::path::Path;

use crate::compile::Overlay;
use crate::error::DriverError;
use crate::flags::ParseFlags;
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
    /// Diagnostics about the user's program, rendered.
    #[error("{0}")]
    Diagnostics(String),
}

/// The function `name` and all it needs.
pub fn print(_tools: &Tools, input: &Input<'_>, name: &str, form: Form) -> Result<String, Failure> {
    read_source(input.file)?;
    // CONNECT: both passes by `parse::dump` through `cotangent::clang::Sieve`, `clang::read`, `lower::lower` with the
    // root `name`, then `emit::emit` or the IR's text form.
    Err(Failure::Diagnostics(format!("error: printing `{name}` as {form:?} is not connected yet")))
}

/// The texts to compile for the CPU on the direct path: the user's own, with launches and dynamic shared memory
/// edited at their offsets.
pub fn direct(_tools: &Tools, input: &Input<'_>) -> Result<Vec<Overlay>, Failure> {
    let text = read_source(input.file)?;
    // CONNECT: `cotangent::direct::edit` on the host pass. Until then the text is compiled as it is.
    Ok(vec![Overlay { path: input.file.to_path_buf(), text }])
}

/// The texts to compile for the CPU on the printed path: what the printer writes for the whole program.
pub fn printed(_tools: &Tools, input: &Input<'_>) -> Result<Vec<Overlay>, Failure> {
    read_source(input.file)?;
    // CONNECT: as `print`, with the CPU dialect and `main` as the root.
    Err(Failure::Diagnostics("error: the printed path is not connected yet".to_owned()))
}

fn read_source(file: &Path) -> Result<String, DriverError> {
    fs::read_to_string(file).map_err(DriverError::file("read", file))
}
