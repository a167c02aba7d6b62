//! One program of the self-test, in a process of its own: it may crash, hang or panic as it likes. The process is this
//! command under a hidden name; its words are a file for the verdict, and then those of `check` or `run`.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cotangent_driver::program::Failure;
use cotangent_driver::{DriverError, Environment};

use super::verdict::Verdict;
use crate::arguments::{Arguments, Color, Run, Task};
use crate::check;
use crate::check::program::Stopped;
use crate::exit;
use crate::run_nvcc;
use crate::terminal::Terminal;

/// The word that asks for it.
pub(crate) const NAME: &str = "__selftest";

/// Builds, runs and compares, with everything that is said going to the output.
pub(crate) fn one(words: &[OsString]) -> Result<u8> {
    let [file, words @ ..] = words else { bail!("`{NAME}` is how `cotangent selftest` calls itself") };
    let terminal = Terminal::new(Color::Never);
    let named = [OsString::from("cotangent")].into_iter().chain(words.iter().cloned()).collect();
    let result = match Arguments::from_words(named).task {
        Task::Check(options) => check::outcome(&options, &terminal).map(|outcome| match outcome.report {
            Some(report) => Verdict::of_report(&report),
            None => Verdict::Failed,
        }),
        Task::Run(options) => whole_program(&options, &terminal),
        _ => bail!("`{NAME}` takes the words of `check` or of `run`"),
    };
    let verdict = result.unwrap_or_else(|error| {
        match error.downcast_ref::<Stopped>() {
            // Without advice about arguments: those of the programs are right.
            Some(stopped) => eprintln!("error: {stopped}"),
            None => terminal.error(&error),
        }
        of_error(&error)
    });
    std::fs::write(file, verdict.to_words()).with_context(|| format!("cannot write {}", Path::new(file).display()))?;
    Ok(exit::SUCCESS)
}

/// A program that compares its own numbers.
fn whole_program(options: &Run, terminal: &Terminal) -> Result<Verdict> {
    let folder = tempfile::tempdir().context("cannot make a folder for the program")?;
    let Some(status) = run_nvcc::ending(options, terminal, &Environment::of_process(), folder.path())? else {
        return Ok(Verdict::NotCompiled);
    };
    eprintln!("the program ended with {status}");
    Ok(match status.code() {
        Some(0) => Verdict::Agrees(None),
        Some(_) => Verdict::Differs(None),
        None => Verdict::Crashed,
    })
}

fn of_error(error: &anyhow::Error) -> Verdict {
    if let Some(stopped) = error.downcast_ref::<Stopped>() {
        return if stopped.took_too_long { Verdict::TookTooLong } else { Verdict::Crashed };
    }
    let of_driver = |error: &DriverError| match error {
        DriverError::Rejected { .. } => Verdict::NotCompiled,
        _ => Verdict::Failed,
    };
    match error.downcast_ref::<Failure>() {
        Some(Failure::Diagnostics(_)) => Verdict::Refused,
        Some(Failure::Driver(error)) => of_driver(error),
        Some(Failure::Read(_)) => Verdict::Failed,
        None => error.downcast_ref::<DriverError>().map_or(Verdict::Failed, of_driver),
    }
}
