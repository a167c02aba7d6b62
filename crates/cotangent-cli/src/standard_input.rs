//! A program on standard input, for which `-` stands on the command line.
//!
//! Clang's two passes read a file each, and messages show its lines, so the text is put into one. Messages name it `stdin.cu`.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::arguments::Task;

/// What the file is called, in messages and where a derivative includes the program.
pub(crate) const NAME: &str = "stdin.cu";

/// The folder of that file, which is gone when this is.
pub(crate) struct StandardInput {
    folder: TempDir,
}

impl StandardInput {
    /// If the task reads `-`, has it read the file instead. Headers in quotes are looked for where the command runs.
    pub(crate) fn of(task: &mut Task) -> Result<Option<StandardInput>> {
        let Some((file, flags)) = task.file_and_flags().filter(|(file, _)| file.as_path() == Path::new("-")) else {
            return Ok(None);
        };
        let folder = tempfile::tempdir().context("cannot make a folder for what standard input holds")?;
        *file = folder.path().join(NAME);
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text).context("cannot read standard input")?;
        std::fs::write(&*file, text).with_context(|| format!("cannot write {}", file.display()))?;
        flags.push("-I.".to_owned());
        Ok(Some(StandardInput { folder }))
    }

    /// The file, as messages have it.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }
}
