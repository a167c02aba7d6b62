//! Compilation databases, `compile_commands.json`: how a build compiles a file, and which files its program has.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cc::flags_for_reading;
use crate::environment::Environment;
use crate::error::DriverError;
use crate::flags::{Kind, parts};

/// The name that build systems give it.
const NAME: &str = "compile_commands.json";

/// Flags whose values are files or folders; a build names them from its own folder.
const PATHS: &[&str] =
    &["-I", "--include-path", "-isystem", "--system-include", "-iquote", "-include", "--pre-include"];

/// Flags that say what a text means. Compilers of the host have many others, which nvcc's table does not know.
const MEANING: &[&str] = &["-I", "-isystem", "-iquote", "-include", "-D", "-U", "-std"];

/// A database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    path: PathBuf,
    entries: Vec<Entry>,
}

/// How one file is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    file: PathBuf,
    /// Where the compiler runs.
    folder: PathBuf,
    words: Vec<String>,
    /// What the build system says is written.
    output: Option<String>,
}

impl Database {
    /// Reads a database, or that of a build folder.
    pub fn read(path: &Path) -> Result<Self, DriverError> {
        let path = if path.is_dir() { path.join(NAME) } else { path.to_path_buf() };
        let text = std::fs::read_to_string(&path).map_err(DriverError::file("read", &path))?;
        let broken = |reason: String| DriverError::Database { path: path.clone(), reason };
        let value: Value = serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
        let all = value.as_array().ok_or_else(|| broken("it is not a list".to_owned()))?;
        let entries = all.iter().enumerate().map(|(index, entry)| {
            entry_of(entry).ok_or_else(|| broken(format!("entry {index} has no directory, file and command")))
        });
        Ok(Self { entries: entries.collect::<Result<_, _>>()?, path: path.clone() })
    }

    /// The flags by which the build reads a file.
    pub fn flags_of(&self, environment: &Environment, file: &Path) -> Result<Vec<String>, DriverError> {
        let entry = self.entry(file)?;
        let words = flags_for_reading(environment, &entry.words, &entry.folder);
        let is_cuda = entry.file.extension().is_some_and(|extension| extension == "cu");
        let mut flags = Vec::new();
        for part in parts(&words) {
            match part.kind {
                Kind::Flag { name, value, .. } if PATHS.contains(&name) => {
                    let whole = |path: &str| entry.folder.join(path).display().to_string();
                    let all: Vec<String> = value.split(',').map(whole).collect();
                    flags.extend([name.to_owned(), all.join(",")]);
                }
                Kind::Flag { name, .. } if !is_cuda && !MEANING.contains(&name) => {}
                Kind::Unknown if !is_cuda => {}
                Kind::Flag { .. } | Kind::Unknown | Kind::File(_) => flags.extend_from_slice(&words[part.words]),
            }
        }
        Ok(flags)
    }

    /// The other files of the program that a file belongs to: those that CMake compiles for the same target, all if the
    /// database names no targets.
    pub fn others_of(&self, file: &Path) -> Result<Vec<PathBuf>, DriverError> {
        let own = self.entry(file)?;
        let is_other = |entry: &&Entry| entry.file != own.file && target(entry) == target(own);
        let mut found: Vec<PathBuf> = Vec::new();
        for entry in self.entries.iter().filter(is_other) {
            if !found.contains(&entry.file) {
                found.push(entry.file.clone());
            }
        }
        Ok(found)
    }

    fn entry(&self, file: &Path) -> Result<&Entry, DriverError> {
        let wanted = file.canonicalize().map_err(DriverError::file("read", file))?;
        let found = self.entries.iter().find(|entry| entry.file.canonicalize().is_ok_and(|file| file == wanted));
        found.ok_or_else(|| DriverError::NotInDatabase { file: file.to_path_buf(), path: self.path.clone() })
    }
}

fn entry_of(value: &Value) -> Option<Entry> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let folder = PathBuf::from(text("directory")?);
    let words = match value.get("arguments").and_then(Value::as_array) {
        Some(words) => words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?,
        None => crate::cc::split_words(text("command")?),
    };
    let file = folder.join(text("file")?);
    Some(Entry { file, folder, words, output: text("output").map(str::to_owned) })
}

/// CMake writes the objects of a target to `CMakeFiles/TARGET.dir`.
fn target(entry: &Entry) -> Option<&str> {
    let output = entry.output.as_deref()?;
    output.find(".dir/").map(|end| &output[..end])
}
