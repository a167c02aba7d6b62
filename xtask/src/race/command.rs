//! The `cotangent` command, optimised, as users have it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::{self, run};

/// Where it is.
pub(super) struct Cotangent {
    pub(super) path: PathBuf,
}

impl Cotangent {
    /// One that is built already, or a new one.
    pub(super) fn find(built: Option<&Path>) -> Result<Cotangent> {
        if let Some(path) = built {
            return Ok(Cotangent { path: path.to_path_buf() });
        }
        eprintln!("building the command");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(workspace::root());
        cargo.args(["build", "--release", "--package", "cotangent-cli", "--message-format", "json-render-diagnostics"]);
        let output = cargo.stderr(std::process::Stdio::inherit()).output()?;
        ensure!(output.status.success(), "the command does not build; see above");
        let text = String::from_utf8_lossy(&output.stdout);
        let executable = text.lines().find_map(|line| {
            let message: serde_json::Value = serde_json::from_str(line).ok()?;
            message.get("executable")?.as_str().map(PathBuf::from)
        });
        Ok(Cotangent { path: executable.context("cargo does not say where the command is")? })
    }

    /// What it prints.
    pub(super) fn output(&self, words: &[&str]) -> Result<String> {
        run(Command::new(&self.path).args(words))
    }
}
