//! Commands that others are made of.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Cargo in the workspace, with these words.
pub(crate) fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(workspace::root()).args(words);
    command
}

/// Runs a command that must end well.
pub(crate) fn done(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {}; `cargo xtask setup` installs it", program.display()))?;
    ensure!(status.success(), "{} failed; see above", program.display());
    Ok(())
}
