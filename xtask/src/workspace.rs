//! The workspace as the developer commands see it: its folder and its files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_path_buf()
}

/// A file of the workspace.
pub(crate) struct SourceFile {
    /// Relative to the workspace, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// All text files that are committed, or would be by `git add`.
pub(crate) fn files() -> Result<Vec<SourceFile>> {
    let listing = Command::new("git")
        .current_dir(root())
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("cannot run git")?;
    ensure!(listing.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&listing.stderr));
    let names = String::from_utf8(listing.stdout).context("a file name is not UTF-8")?;
    let mut files = Vec::new();
    for path in names.split_terminator('\0') {
        let full = root().join(path);
        // Deleted but not yet committed, or a link to a folder whose files are listed under their own names.
        if !full.is_file() {
            continue;
        }
        let bytes = std::fs::read(&full).with_context(|| format!("cannot read {path}"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path: path.to_owned(), text });
        }
    }
    Ok(files)
}

/// What a command of git says, run in a folder.
pub(crate) fn git(folder: &Path, words: &[&str]) -> Result<String> {
    let output = Command::new("git").current_dir(folder).args(words).output()?;
    ensure!(output.status.success(), "git {}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a program prints; what it complains about if it fails.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {}", command.get_program().display()))?;
    if !output.status.success() {
        let said: String = String::from_utf8_lossy(&output.stderr).chars().take(2000).collect();
        bail!("{} failed: {said}", command.get_program().display());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
