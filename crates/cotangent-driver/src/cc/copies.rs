//! The copies of inputs whose requests are answered, in a folder that goes away with them.

use std::path::{Path, PathBuf};

use super::line::Line;
use crate::error::DriverError;

pub(super) struct Copies {
    scratch: tempfile::TempDir,
    pub(super) all: Vec<FileCopy>,
}

/// An input and its copy.
pub(super) struct FileCopy {
    /// Which word of the line it replaces.
    pub(super) word: usize,
    pub(super) original: PathBuf,
    pub(super) copy: PathBuf,
}

impl Copies {
    pub(super) fn new() -> Result<Self, DriverError> {
        let scratch = tempfile::Builder::new().prefix("cotangent-cc-").tempdir();
        let scratch = scratch.map_err(DriverError::file("make a folder in", &std::env::temp_dir()))?;
        Ok(Self { scratch, all: Vec::new() })
    }

    /// Each has a folder of its own: two inputs may have the same name.
    pub(super) fn write(&mut self, word: usize, original: PathBuf, text: &str) -> Result<(), DriverError> {
        let folder = self.scratch.path().join(self.all.len().to_string());
        std::fs::create_dir(&folder).map_err(DriverError::file("make", &folder))?;
        let copy = folder.join(original.file_name().unwrap_or_default());
        std::fs::write(&copy, text).map_err(DriverError::file("write", &copy))?;
        self.all.push(FileCopy { word, original, copy });
        Ok(())
    }

    /// The folder whose headers the copies include by `"…"`. All inputs share what is said about it on the command
    /// line, so two folders could give one of them the other's header.
    pub(super) fn folder(&self, line: &Line) -> Result<PathBuf, DriverError> {
        let folder_of = |file: &Path| match file.parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mut folders: Vec<PathBuf> = line.inputs.iter().map(|at| folder_of(&line.path(*at))).collect();
        folders.dedup();
        match folders.as_slice() {
            [folder] => Ok(folder.clone()),
            _ => Err(DriverError::InputsInSeveralFolders),
        }
    }
}
