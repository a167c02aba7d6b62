//! The exit codes of the command, as `cotangent --help` states them.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use cotangent_driver::program::Failure;
use cotangent_driver::{Blame, DriverError};

use crate::terminal::Terminal;

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

/// The program's own exit code; findings of the checks count as a fault of the program.
pub(crate) fn code_of_program(status: ExitStatus, check: bool, terminal: &Terminal) -> u8 {
    match (status.code(), status.signal()) {
        (Some(cotangent_cpu::FINDINGS_EXIT_CODE), _) if check => PROGRAM,
        // The low eight bits are all that an exit code has.
        (Some(code), _) => code as u8,
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            terminal.note(&format!("the program was ended by {}", signal_name(signal)));
            if !check {
                terminal.note("run it again with --check to find out where it went wrong");
            }
            (128 + signal) as u8
        }
    }
}

/// What a user knows a signal by.
fn signal_name(signal: i32) -> String {
    let known = [
        (2, "SIGINT (interrupted)"),
        (4, "SIGILL (illegal instruction)"),
        (5, "SIGTRAP (trap)"),
        (6, "SIGABRT (aborted)"),
        (7, "SIGBUS (bad memory access)"),
        (8, "SIGFPE (integer division by zero or overflow)"),
        (9, "SIGKILL (killed; out of memory?)"),
        (11, "SIGSEGV (bad memory access)"),
        (13, "SIGPIPE (nobody reads its output)"),
        (15, "SIGTERM (terminated)"),
    ];
    let name = known.iter().find(|(number, _)| *number == signal).map(|(_, name)| (*name).to_owned());
    name.unwrap_or_else(|| format!("signal {signal}"))
}
