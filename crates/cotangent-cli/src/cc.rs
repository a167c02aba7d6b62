//! `cotangent cc`: calls a compiler as a build system asks for it, on files whose requests for gradients are answered.
//! A line in which nothing asks for one is handed to the compiler as it is, and this process becomes the compiler.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use cotangent_driver::Environment;
use cotangent_driver::cc::{Plan, plan, with_compiler};

use crate::arguments::Cc;
use crate::terminal::Terminal;

pub(crate) fn cc(options: &Cc, terminal: &Terminal) -> Result<u8> {
    let environment = Environment::of_process();
    let command = with_compiler(&environment, &options.command)?;
    let [compiler, words @ ..] = command.as_slice() else { return Err(anyhow!("no compiler is named")) };
    match plan(&environment, &command, terminal.colour)? {
        Plan::Untouched => {
            let error = Command::new(compiler).args(words).exec();
            Err(error).with_context(|| format!("cannot run {}", compiler.display()))
        }
        Plan::Changed(changed) => {
            terminal.rendered(&changed.notes);
            let status = changed.run()?;
            // As shells report a signal. The low eight bits are all that an exit code has.
            Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()) as u8)
        }
    }
}
