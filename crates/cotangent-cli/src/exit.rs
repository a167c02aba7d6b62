//! The exit codes of the command, as `cotangent --help` states them.

use cotangent_driver::program::Failure;
use cotangent_driver::{Blame, DriverError};

/// All went well.
pub(crate) const SUCCESS: u8 = 0;
/// The user's program is at fault: diagnostics, a finding of `--check`, or `doctor` misses something.
pub(crate) const PROGRAM: u8 = 1;
/// The command line is.
pub(crate) const USAGE: u8 = 2;
/// The machine is: a tool is missing, a file cannot be read.
pub(crate) const ENVIRONMENT: u8 = 3;

/// The exit code that goes with an error.
pub(crate) fn code_of(error: &anyhow::Error) -> u8 {
    let failure = error.downcast_ref::<Failure>().map(Failure::blame);
    let blame = failure.or_else(|| error.downcast_ref::<DriverError>().map(DriverError::blame));
    match blame {
        Some(Blame::Program) => PROGRAM,
        Some(Blame::Usage) => USAGE,
        Some(Blame::Environment) | None => ENVIRONMENT,
    }
}
