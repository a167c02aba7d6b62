//! Where printed text goes: a file that is none of those read, or standard output.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use cotangent_driver::output::Output;
use cotangent_driver::program::Failure;

use crate::exit;

/// Prints into a file if one is named, else to standard output. `print` is not called for a file that must not be
/// written.
pub(crate) fn write(
    file: Option<&Path>,
    input: &Path,
    print: impl FnOnce(Option<&Output>) -> Result<String, Failure>,
) -> Result<u8> {
    let Some(file) = file else { return to_standard_output(&print(None)?) };
    let output = Output::apart_from(file, &[input])?;
    output.write(&print(Some(&output))?)?;
    Ok(exit::SUCCESS)
}

fn to_standard_output(text: &str) -> Result<u8> {
    match std::io::stdout().write_all(text.as_bytes()) {
        // The reader has seen enough, as in `cotangent grad … | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(exit::SUCCESS),
        result => Ok(result.map(|()| exit::SUCCESS)?),
    }
}
